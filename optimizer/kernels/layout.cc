#include "optimizer/kernels/layout.h"

namespace plait {

absl::string_view LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kPlain:
      return "plain";
    case Layout::kChannelsLast:
      return "channels_last";
  }
  return "unknown";
}

std::optional<Layout> LayoutFromName(absl::string_view name) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    if (name == LayoutName(layout)) return layout;
  }
  return std::nullopt;
}

}  // namespace plait
