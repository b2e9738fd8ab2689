"""Networks of torchvision and transformers, exported by both of PyTorch's ONNX exporters, against ONNX Runtime.

    onnx_networks_test.py TUFF DEVICE [unittest options]

DEVICE is cpu or vulkan, which must run all of each network. Weights are random with a fixed seed: what is compared is
what the networks compute. Needs torch, torchvision, transformers, onnxscript and onnxruntime; without them, skipped. So is
a network that an exporter refuses.
"""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TUFF = sys.argv.pop(1)
DEVICE = sys.argv.pop(1)
PACKAGES = [name for name in ("torch", "torchvision", "transformers", "onnxscript", "onnxruntime", "numpy")
            if not importlib.util.find_spec(name)]
if not PACKAGES:
    import numpy as np
    import onnxruntime
    import torch
    import torchvision
    import transformers

VISION = ["resnet18", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "efficientnet_b0", "efficientnet_v2_s", "convnext_tiny",
          "swin_t", "swin_v2_t", "vit_b_16", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x1_0", "squeezenet1_1",
          "densenet121", "mnasnet1_0", "regnet_y_400mf", "googlenet", "inception_v3", "maxvit_t"]
SEGMENTATION = ["deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large"]


class Output(torch.nn.Module if not PACKAGES else object):
    """A network whose output is a tuple of tensors."""

    def __init__(self, network, call=None):
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *inputs):
        output = self.call(self.network, *inputs) if self.call else self.network(*inputs)
        if hasattr(output, "to_tuple"):
            output = output.to_tuple()
        if isinstance(output, dict):
            output = tuple(output.values())
        return tuple(o for o in output if torch.is_tensor(o)) if isinstance(output, (tuple, list)) else output


def vision(name):
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = 299 if name == "inception_v3" else 224
    return Output(torchvision.models.get_model(name, weights=None, **options)), (torch.randn(1, 3, size, size),)


def segmentation(name):
    network = torchvision.models.get_model(name, weights=None, weights_backbone=None)
    return Output(network, lambda n, x: n(x)["out"]), (torch.randn(1, 3, 128, 128),)


def small(config, **sizes):
    """A configuration with fewer and smaller layers, whatever its fields are called."""
    for key, value in sizes.items():
        setattr(config, key, value)
    config._attn_implementation = "eager"
    return config


def ids(*shape, vocabulary=500):
    return torch.randint(1, vocabulary, shape)


def transformer(name):
    t = transformers
    if name in ("bert", "distilbert", "roberta", "electra", "albert"):
        configs = {"bert": (t.BertConfig, t.BertModel), "roberta": (t.RobertaConfig, t.RobertaModel),
                   "electra": (t.ElectraConfig, t.ElectraModel), "albert": (t.AlbertConfig, t.AlbertModel),
                   "distilbert": (t.DistilBertConfig, t.DistilBertModel)}
        config, model = configs[name]
        network = model(small(config(), num_hidden_layers=2, n_layers=2))
        return Output(network, lambda n, x, m: n(input_ids=x, attention_mask=m)[0]), (ids(2, 16), torch.ones(2, 16, dtype=torch.int64))
    if name.startswith("t5"):
        config = small(t.T5Config(), num_layers=2, num_decoder_layers=2)
        network = t.T5Model(config)
        if name == "t5_encoder":
            return Output(network.encoder, lambda n, x: n(input_ids=x)[0]), (ids(1, 12),)
        return (Output(network.decoder, lambda n, x, h: n(input_ids=x, encoder_hidden_states=h, use_cache=False)[0]),
                (ids(1, 7), torch.randn(1, 12, config.d_model)))
    if name.startswith("whisper"):
        config = small(t.WhisperConfig(), encoder_layers=2, decoder_layers=2)
        network = t.WhisperModel(config)
        if name == "whisper_encoder":
            return Output(network.encoder, lambda n, x: n(x)[0]), (torch.randn(1, 80, 3000),)
        return (Output(network.decoder, lambda n, x, h: n(input_ids=x, encoder_hidden_states=h, use_cache=False)[0]),
                (ids(1, 5), torch.randn(1, 150, config.d_model)))
    if name == "clip":
        config = t.CLIPConfig()
        for part in (config.text_config, config.vision_config):
            small(part, num_hidden_layers=2)
        network = t.CLIPModel(small(config))
        return (Output(network, lambda n, x, p: n(input_ids=x, pixel_values=p)[0]), (ids(2, 9), torch.randn(1, 3, 224, 224)))
    if name == "vit":
        return Output(t.ViTModel(small(t.ViTConfig(), num_hidden_layers=2)), lambda n, x: n(x)[0]), (torch.randn(1, 3, 224, 224),)
    models = {"gpt2": (t.GPT2Config(n_layer=2), t.GPT2LMHeadModel, 2, 12, 64),
              "llama": (t.LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8,
                                      num_key_value_heads=4, vocab_size=1000), t.LlamaForCausalLM, 2, 4, 32)}
    config, model, layers, heads, size = models[name.split("_")[0]]
    network = model(small(config))
    if not name.endswith("past"):
        return Output(network, lambda n, x: n(input_ids=x, use_cache=False)[0]), (ids(1, 11),)

    def with_past(n, x, *past):
        cache = t.DynamicCache()
        for i in range(layers):
            cache.update(past[2 * i], past[2 * i + 1], i)
        result = n(input_ids=x, past_key_values=cache, use_cache=True)
        layers_ = [(layer.keys, layer.values) for layer in result.past_key_values.layers]
        return (result.logits, *(t for pair in layers_ for t in pair))
    return Output(network, with_past), (ids(1, 1), *(torch.randn(1, heads, 9, size) for _ in range(2 * layers)))


TEXT = ["bert", "distilbert", "roberta", "electra", "albert", "t5_encoder", "t5_decoder", "whisper_encoder", "whisper_decoder",
        "clip", "vit", "gpt2", "gpt2_past", "llama", "llama_past"]


@unittest.skipIf(PACKAGES, "this Python has no " + ", ".join(PACKAGES))
class Networks(unittest.TestCase):
    def check(self, make, name, dynamo):
        torch.manual_seed(7)
        network, inputs = make(name)
        network.eval()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            path = folder / "model.onnx"
            names = [f"input_{i}" for i in range(len(inputs))]
            with torch.no_grad():
                try:
                    torch.onnx.export(network, inputs, str(path), input_names=names, dynamo=dynamo, opset_version=18,
                                      verbose=False)
                except torch.onnx.errors.UnsupportedOperatorError as error:
                    self.skipTest(str(error).split("\n", 1)[0])
            runtime = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            used = {i.name for i in runtime.get_inputs()}
            feeds = {n: x.numpy() for n, x in zip(names, inputs) if n in used}
            expected = runtime.run(None, feeds)
            command = [TUFF, "run", str(path), "--device", DEVICE, "--output-dir", str(folder / "out")]
            command += ["--require-gpu"] if DEVICE == "vulkan" else []
            for n, x in feeds.items():
                np.save(folder / f"{n}.npy", x)
                command += ["--input", f"{n}={folder / n}.npy"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=900)
            self.assertEqual(run.returncode, 0, run.stderr[-2000:])
            for i, want in enumerate(expected):
                got = np.load(folder / "out" / f"out{i}.npy")
                self.assertEqual(got.shape, want.shape)
                if want.size:
                    scale = max(float(np.abs(want).max()), 1e-6)
                    self.assertLess(float(np.abs(got - want).max()) / scale, 2e-3, f"output {i}")


def add_tests():
    for make, names in ((vision, VISION), (segmentation, SEGMENTATION), (transformer, TEXT)):
        for name in names:
            for exporter, dynamo in (("torchscript", False), ("dynamo", True)):
                setattr(Networks, f"test_{name}_{exporter}",
                        lambda self, make=make, name=name, dynamo=dynamo: self.check(make, name, dynamo))


add_tests()
if __name__ == "__main__":
    unittest.main(verbosity=2)
