// Judges what the simulator predicts of the plans that sampled_plans measured: `judge_samples
// SAMPLES.jsonl` prints a row for each model, the medians and the worst, in Markdown:
//
//   plans        that were measured; every second one is judged, the others are fitted to
//   span         the time of the slowest over that of the fastest
//   rank, error  of the predictions as they are: Spearman's rank correlation with what was
//                measured, and the median of how far a prediction is from it
//   fitted       the same by constants of the simulator that are the best for the plans of all
//                models that are fitted to: they follow below the table
//   again        the same of a plan's first measurement as a prediction of its second: no
//                prediction can be asked to be better than that
//
// Times are told by the baseline's in the same rounds, so that what the machine does between two of
// them is not in it. Exit codes: 0, 1 where a file has no such lines, 2 usage.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "optimizer/cost/simulator.h"
#include "proto/wire/json.h"

namespace plait {
namespace {

// What is added to the simulator's account of a step. All 0: it is as it is.
struct Constants {
  double launch_gap_us = 0;
  double cross_stream_us = 0;
  double us_per_byte = 0;       // that a step moves, beside what its profile says
  double busy_per_byte_us = 0;  // of the memory's bandwidth: its inverse, in us a byte
};

struct Sample {
  double latency_us = 0;  // of both measurements
  double first_us = 0;
  double second_us = 0;
  std::vector<SimulatedStep> steps;
  std::vector<double> bytes;
};

// A model's samples: those that constants are fitted to, and those that are judged.
struct Model {
  std::string name;
  std::vector<Sample> fitted;
  std::vector<Sample> judged;
};

double PredictedUs(const Sample& sample, const Constants& constants) {
  std::vector<SimulatedStep> steps = sample.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].latency_us <= 0) continue;
    steps[i].latency_us += constants.us_per_byte * sample.bytes[i];
    const double share = constants.busy_per_byte_us * sample.bytes[i] / steps[i].latency_us;
    steps[i].bandwidth_share = std::min(1.0, share);
  }
  const SimulatorOptions overheads = {constants.launch_gap_us, constants.cross_stream_us};
  return Simulate(steps, overheads).makespan_us;
}

// The places of the values in ascending order; equal ones share the mean of theirs.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = (begin + end - 1) / 2.0;
    begin = end;
  }
  return ranks;
}

// Spearman's: the correlation of the ranks.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = RanksOf(a), y = RanksOf(b);
  const double mean = (x.size() - 1) / 2.0;
  double products = 0, squares_x = 0, squares_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - mean) * (y[i] - mean);
    squares_x += (x[i] - mean) * (x[i] - mean);
    squares_y += (y[i] - mean) * (y[i] - mean);
  }
  return squares_x > 0 && squares_y > 0 ? products / std::sqrt(squares_x * squares_y) : 0;
}

// How good numbers are as predictions of others.
struct Quality {
  double rank = 0;
  double error = 0;
};

Quality QualityOf(const std::vector<double>& predicted, const std::vector<double>& measured) {
  std::vector<double> errors;
  for (size_t i = 0; i < measured.size(); ++i) {
    errors.push_back(std::abs(predicted[i] / measured[i] - 1));
  }
  return {RankCorrelation(predicted, measured), Median(errors)};
}

template <typename Value>
std::vector<double> Each(const std::vector<Sample>& samples, Value value) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(value(sample));
  return values;
}

Quality QualityBy(const std::vector<Sample>& samples, const Constants& constants) {
  return QualityOf(Each(samples, [&](const Sample& s) { return PredictedUs(s, constants); }),
                   Each(samples, [](const Sample& s) { return s.latency_us; }));
}

// The mean error of the plans that constants are fitted to, each model counting alike.
double LossOf(const std::vector<Model>& models, const Constants& constants) {
  double loss = 0;
  for (const Model& model : models) loss += QualityBy(model.fitted, constants).error;
  return loss / static_cast<double>(models.size());
}

// One constant after the other takes the best of its values, until none changes.
Constants Fit(const std::vector<Model>& models) {
  const std::pair<double Constants::*, std::vector<double>> choices[] = {
      {&Constants::launch_gap_us, {0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2}},
      {&Constants::cross_stream_us, {0, 0.2, 0.5, 1, 2, 3, 5}},
      {&Constants::us_per_byte, {0, 2e-6, 5e-6, 1e-5, 1.5e-5, 2e-5, 3e-5, 5e-5}},
      {&Constants::busy_per_byte_us, {0, 1e-5, 2e-5, 3e-5, 5e-5, 1e-4}}};
  Constants best;
  double loss = LossOf(models, best);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [constant, values] : choices) {
      for (const double value : values) {
        Constants tried = best;
        tried.*constant = value;
        const double found = LossOf(models, tried);
        if (found >= loss) continue;
        loss = found;
        best = tried;
        changed = true;
      }
    }
  }
  return best;
}

Sample SampleOf(const wire::Json& record, double baseline_us) {
  Sample sample;
  const auto measured_us = [&](int turn) {
    return record.at("latency_us").at(turn).get<double>() * baseline_us /
           record.at("baseline_us").at(turn).get<double>();
  };
  sample.first_us = measured_us(0);
  sample.second_us = measured_us(1);
  sample.latency_us = (sample.first_us + sample.second_us) / 2;
  for (const wire::Json& fields : record.at("steps")) {
    SimulatedStep step = {.latency_us = fields.at(0),
                          .stream = fields.at(1),
                          .alone = fields.at(2),
                          .compute_share = fields.at(3),
                          .waits = fields.at(5).get<std::vector<int>>()};
    sample.steps.push_back(std::move(step));
    sample.bytes.push_back(fields.at(4));
  }
  return sample;
}

// In the order in which models come first. Lines that are no samples are an exception of the
// library's.
std::vector<Model> ReadModels(const std::string& path) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<wire::Json>> records;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    wire::Json record = wire::Json::parse(line);
    const std::string name = record.at("model");
    if (!records.contains(name)) names.push_back(name);
    records[name].push_back(std::move(record));
  }
  std::vector<Model> models;
  for (const std::string& name : names) {
    std::vector<double> baselines;
    for (const wire::Json& record : records[name]) {
      for (const wire::Json& baseline_us : record.at("baseline_us")) {
        baselines.push_back(baseline_us);
      }
    }
    const double baseline_us = Median(std::move(baselines));
    Model model = {name, {}, {}};
    for (size_t i = 0; i < records[name].size(); ++i) {
      (i % 2 == 0 ? model.fitted : model.judged).push_back(SampleOf(records[name][i], baseline_us));
    }
    models.push_back(std::move(model));
  }
  return models;
}

// A table's row; what is judged of it.
struct Row {
  double span = 0;
  Quality plain, fitted, again;
};

Row RowOf(const Model& model, const Constants& constants) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const std::vector<Sample>* samples : {&model.fitted, &model.judged}) {
    for (const Sample& sample : *samples) {
      least = std::min(least, sample.latency_us);
      most = std::max(most, sample.latency_us);
    }
  }
  return {most / least, QualityBy(model.judged, {}), QualityBy(model.judged, constants),
          QualityOf(Each(model.judged, [](const Sample& s) { return s.first_us; }),
                    Each(model.judged, [](const Sample& s) { return s.second_us; }))};
}

void PrintRow(const std::string& name, const std::string& plans, const Row& row) {
  std::printf("| %s | %s | %.2f | %.3f | %.1f %% | %.3f | %.1f %% | %.3f | %.1f %% |\n",
              name.c_str(), plans.c_str(), row.span, row.plain.rank, 100 * row.plain.error,
              row.fitted.rank, 100 * row.fitted.error, row.again.rank, 100 * row.again.error);
}

// The median of each column, or the worst in it: the least span and rank, the greatest error.
Row SummaryOf(const std::vector<Row>& rows, bool worst) {
  const auto of = [&](auto value, bool greatest) {
    std::vector<double> values;
    for (const Row& row : rows) values.push_back(value(row));
    return worst ? Quantile(values, greatest ? 1 : 0) : Median(values);
  };
  const auto quality = [&](Quality Row::*column) {
    return Quality{of([&](const Row& row) { return (row.*column).rank; }, false),
                   of([&](const Row& row) { return (row.*column).error; }, true)};
  };
  return {of([](const Row& row) { return row.span; }, false), quality(&Row::plain),
          quality(&Row::fitted), quality(&Row::again)};
}

void Judge(const std::vector<Model>& models) {
  const Constants constants = Fit(models);
  std::printf(
      "| model | plans | span | rank | error | fitted: rank | error | again: rank | error |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Row> rows;
  for (const Model& model : models) {
    rows.push_back(RowOf(model, constants));
    PrintRow(model.name, std::to_string(model.fitted.size() + model.judged.size()), rows.back());
  }
  PrintRow("median", "", SummaryOf(rows, false));
  PrintRow("worst", "", SummaryOf(rows, true));
  std::printf(
      "\nFitted: launch gap %g us, hand-over between streams %g us, %g us a MB that a step moves, "
      "bandwidth %s bytes/us\n",
      constants.launch_gap_us, constants.cross_stream_us, 1e6 * constants.us_per_byte,
      constants.busy_per_byte_us > 0
          ? std::to_string(std::lround(1 / constants.busy_per_byte_us)).c_str()
          : "unlimited");
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: judge_samples SAMPLES.jsonl\n");
    return 2;
  }
  std::vector<plait::Model> models;
  try {
    models = plait::ReadModels(argv[1]);
  } catch (const nlohmann::json::exception& error) {
    std::fprintf(stderr, "judge_samples: %s: %s\n", argv[1], error.what());
    return 1;
  }
  if (models.empty()) {
    std::fprintf(stderr, "judge_samples: %s has no samples\n", argv[1]);
    return 1;
  }
  plait::Judge(models);
  return 0;
}
