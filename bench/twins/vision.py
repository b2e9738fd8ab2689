"""ResNet and vision transformers. Images come as NHWC and stay so in memory (channels last)."""
import torch
import torch.nn.functional as F

from . import layers as L


def resnet(p, images):
    x = torch.relu(_conv_bn(p["stem"], images.permute(0, 3, 1, 2), 2))
    x = F.max_pool2d(x, 3, 2, 1)
    for i, stage in enumerate(p["stages"]):
        for j, block in enumerate(stage):
            stride = 2 if i > 0 and j == 0 else 1
            shortcut = _conv_bn(block["project"], x, stride) if j == 0 else x
            y = torch.relu(_conv_bn(block["a"], x))
            y = torch.relu(_conv_bn(block["b"], y, stride))
            x = torch.relu(_conv_bn(block["c"], y) + shortcut)
    return L.linear(p["head"], x.mean((2, 3)))


def _conv_bn(p, x, stride=1):
    x = F.conv2d(x, p["kernel"], stride=stride, padding=(p["kernel"].shape[2] - 1) // 2)
    return F.batch_norm(x, p["mean"], p["var"], p["scale"], p["bias"], eps=1e-5)


def vit(heads):
    def forward(p, images):
        kernel = p["patch"]["kernel"]
        x = F.conv2d(images.permute(0, 3, 1, 2), kernel, stride=kernel.shape[2:])
        x = x.flatten(2).transpose(1, 2) + p["patch"]["b"]
        cls = p["cls"].expand(x.shape[0], 1, -1)
        x = torch.cat([cls, x], 1) + p["pos"]
        for block in p["blocks"]:
            qkv = L.linear(block["qkv"], L.layer_norm(block["ln_1"], x, 1e-6))
            q, k, v = (L.split_heads(part, heads) for part in qkv.chunk(3, -1))
            x = x + L.linear(block["out"], L.merge_heads(L.attention(q, k, v)))
            x = x + L.linear(block["down"], F.gelu(L.linear(block["up"], L.layer_norm(block["ln_2"], x, 1e-6))))
        return L.linear(p["head"], L.layer_norm(p["ln_f"], x[:, 0], 1e-6))
    return forward


def vit_loss(heads):
    forward = vit(heads)

    def loss(p, images, labels):
        return F.cross_entropy(forward(p, images), labels.long())
    return loss
