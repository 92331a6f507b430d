"""Text and speech: architectures of transformers, and such built like published ones. Each function
returns (model, inputs, input names, output names).

Decoders that keep a cache are exported for one step: they read what earlier steps left, and return
it with the step's own keys and values behind it.
"""

import torch
from torch import nn

TOKENS = 128
TOKENS_OF_SOURCE = 64
TOKENS_BEFORE = 63
TOKENS_BEFORE_LONG = 1023


def token_ids(count):
    return torch.randint(0, 100, (1, count))


class HiddenState(nn.Module):
    """Calls a transformers model by keyword and returns a plain tensor instead of its record."""

    def __init__(self, model, *inputs, output="last_hidden_state"):
        super().__init__()
        self.model, self.inputs, self.output = model, inputs, output

    def forward(self, first, second=None):
        record = self.model(**dict(zip(self.inputs, (first, second))))
        return getattr(record, self.output)


def over_tokens(encoder):
    """Returns an encoder over a masked text, without a pooler: what follows differs by task."""
    mask = torch.ones(1, TOKENS, dtype=torch.int64)
    wrapped = HiddenState(encoder, "input_ids", "attention_mask")
    inputs = (token_ids(TOKENS), mask)
    return wrapped, inputs, ["input_ids", "attention_mask"], ["last_hidden_state"]


def albert():
    """Returns an ALBERT encoder: twelve layers that share the weights of one."""
    import transformers
    config = transformers.AlbertConfig(
        hidden_size=768, num_attention_heads=12, intermediate_size=3072)
    return over_tokens(transformers.AlbertModel(config, add_pooling_layer=False))


def distilbert():
    import transformers
    return over_tokens(transformers.DistilBertModel(transformers.DistilBertConfig()))


def clip_text():
    """Returns CLIP's text encoder."""
    import transformers
    config = transformers.CLIPTextConfig(num_hidden_layers=6, eos_token_id=99)
    model = HiddenState(transformers.CLIPTextModel(config), "input_ids")
    return model, (token_ids(77),), ["input_ids"], ["last_hidden_state"]


def t5_encoder():
    """Returns T5-small's encoder: relative positions as a bias, RMS norms, no scale."""
    import transformers
    model = HiddenState(transformers.T5EncoderModel(transformers.T5Config()), "input_ids")
    return model, (token_ids(TOKENS),), ["input_ids"], ["last_hidden_state"]


class CachedDecoder(nn.Module):
    """One step of a decoder: token, source and the caches of all layers as plain tensors."""

    def __init__(self, model, layers, call, has_source=False):
        super().__init__()
        self.model, self.layers, self.call = model, layers, call
        self.has_source = has_source

    def forward(self, ids, *tensors):
        from transformers import cache_utils
        tensors = list(tensors)
        source = tensors.pop(0) if self.has_source else None
        cache = cache_utils.DynamicCache()
        for layer in range(self.layers):
            cache.update(tensors[2 * layer], tensors[2 * layer + 1], layer)
        if self.has_source:
            both = cache_utils.EncoderDecoderCache(cache, cache_utils.DynamicCache())
            output = self.call(self.model, ids, both, source)
        else:
            output = self.call(self.model, ids, cache, source)
        present = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        return (output, *present)


def cached(model, layers, heads, size, call, source=None, before=TOKENS_BEFORE):
    """Returns a decoder for one token behind so many others."""
    names = [f"{kind}_{layer}" for layer in range(layers) for kind in ("key", "value")]
    caches = [torch.randn(1, heads, before, size) for _ in names]
    sources = [] if source is None else [source]
    wrapped = CachedDecoder(model, layers, call, has_source=bool(sources))
    inputs = (token_ids(1), *sources, *caches)
    input_names = ["input_ids"] + ["source"] * len(sources) + [f"past_{name}" for name in names]
    return wrapped, inputs, input_names, ["output"] + [f"present_{name}" for name in names]


def call_behind(before):
    def call(model, ids, cache, _source):
        position = torch.full((1, 1), before)
        return model(input_ids=ids, past_key_values=cache, position_ids=position,
                     use_cache=True).last_hidden_state

    return call


def gpt2_cached():
    """Returns a step of a GPT-2 of six layers."""
    import transformers
    model = transformers.GPT2Model(transformers.GPT2Config(n_layer=6))
    return cached(model, 6, 12, 64, call_behind(TOKENS_BEFORE))


def llama_config():
    import transformers
    return transformers.LlamaConfig(
        vocab_size=8000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6,
        num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=512)


def llama():
    """Returns a small Llama over a prompt: RMS norms, rotated positions, shared key heads."""
    import transformers
    model = transformers.LlamaModel(llama_config())
    model.config.use_cache = False
    return over_tokens(model)


def llama_cached():
    """Returns a step of the same Llama."""
    import transformers
    return cached(transformers.LlamaModel(llama_config()), 6, 2, 64, call_behind(TOKENS_BEFORE))


def llama_cached_long():
    """Returns a step of it behind so long a text that attention takes much of the time."""
    import transformers
    config = llama_config()
    config.max_position_embeddings = TOKENS_BEFORE_LONG + 1
    return cached(transformers.LlamaModel(config), 6, 2, 64, call_behind(TOKENS_BEFORE_LONG),
                  before=TOKENS_BEFORE_LONG)


def whisper_config():
    import transformers
    return transformers.WhisperConfig(
        d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6,
        decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536,
        max_source_positions=250)


def whisper_encoder():
    """Returns Whisper-tiny's encoder over five seconds of sound."""
    import transformers
    model = HiddenState(transformers.WhisperModel(whisper_config()).encoder, "input_features")
    return model, (torch.rand(1, 80, 500) * 2 - 1,), ["input_features"], ["last_hidden_state"]


def whisper_decoder():
    """Returns a step of Whisper-tiny's decoder, which attends to the encoder's states too."""
    import transformers

    def call(model, ids, cache, source):
        position = torch.full((1, 1), TOKENS_BEFORE)
        return model(input_ids=ids, past_key_values=cache, encoder_hidden_states=source,
                     position_ids=position, use_cache=True).last_hidden_state

    decoder = transformers.WhisperModel(whisper_config()).decoder
    return cached(decoder, 4, 6, 64, call, source=torch.randn(1, 250, 384))


def t5_decoder():
    """Returns a step of T5-small's decoder."""
    import transformers

    def call(model, ids, cache, source):
        return model(input_ids=ids, past_key_values=cache, encoder_hidden_states=source,
                     use_cache=True).last_hidden_state

    model = transformers.T5Model(transformers.T5Config()).decoder
    source = torch.randn(1, TOKENS_OF_SOURCE, 512)
    return cached(model, 6, 8, 64, call, source=source)


def segformer_b0():
    """Returns a segmentation network; its logits have a quarter of the image's side."""
    import transformers
    model = transformers.SegformerForSemanticSegmentation(
        transformers.SegformerConfig(num_labels=150))
    wrapped = HiddenState(model, "pixel_values", output="logits")
    return wrapped, (torch.rand(1, 3, 256, 256) * 2 - 1,), ["input"], ["output"]


def over_sound(model, samples=16000):
    sound = torch.rand(1, samples) * 2 - 1
    return HiddenState(model, "input_values"), (sound,), ["input_values"], ["last_hidden_state"]


def wav2vec2():
    """Returns the encoder of a speech model over a second of sound."""
    import transformers
    return over_sound(transformers.Wav2Vec2Model(
        transformers.Wav2Vec2Config(apply_spec_augment=False)))


def conformer():
    """Returns a speech encoder of convolutions and attention with rotated positions."""
    import transformers
    return over_sound(transformers.Wav2Vec2ConformerModel(transformers.Wav2Vec2ConformerConfig(
        hidden_size=256, num_hidden_layers=6, num_attention_heads=4, intermediate_size=1024,
        conv_dim=(128,) * 7, position_embeddings_type="rotary", apply_spec_augment=False)))


class Tagger(nn.Module):
    """Two bidirectional LSTM layers over embedded tokens, a score per tag and token."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 128)
        self.layers = nn.LSTM(128, 128, num_layers=2, bidirectional=True, batch_first=True)
        self.tag = nn.Linear(256, 17)

    def forward(self, ids):
        return self.tag(self.layers(self.embed(ids))[0]).log_softmax(2)


class Keyword(nn.Module):
    """Convolutions over mel bands, two GRU layers, scores of the last step (Arik et al., 2017)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 32, (20, 5), (8, 2)), nn.BatchNorm2d(32), nn.ReLU())
        self.layers = nn.GRU(32 * 18, 128, num_layers=2, batch_first=True, bidirectional=True)
        self.last = nn.Linear(256, 12)

    def forward(self, x):
        y = self.conv(x).permute(0, 2, 1, 3).flatten(2)
        return self.last(self.layers(y)[0][:, -1])


MODELS = {
    "albert": albert,
    "clip_text": clip_text,
    "conformer": conformer,
    "distilbert": distilbert,
    "gpt2_cached": gpt2_cached,
    "keyword_gru": lambda: (Keyword(), (torch.rand(1, 1, 400, 40) * 2 - 1,), ["input"],
                            ["output"]),
    "llama": llama,
    "llama_cached": llama_cached,
    "llama_cached_long": llama_cached_long,
    "lstm_tagger": lambda: (Tagger(), (token_ids(64),), ["input_ids"], ["output"]),
    "segformer_b0": segformer_b0,
    "t5_decoder": t5_decoder,
    "t5_encoder": t5_encoder,
    "wav2vec2": wav2vec2,
    "whisper_decoder": whisper_decoder,
    "whisper_encoder": whisper_encoder,
}
