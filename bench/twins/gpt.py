"""GPT-2 (forward, one decode step, loss) and GPT-Neo."""
import torch
import torch.nn.functional as F

from . import layers as L


def gpt2(heads):
    def forward(p, tokens):
        s = tokens.shape[1]
        x = F.embedding(tokens, p["wte"]) + p["wpe"][:s]
        for block in p["blocks"]:
            q, k, v = (L.split_heads(part, heads) for part in _qkv(block, x))
            x = x + L.linear(block["attn"]["out"], L.merge_heads(L.attention(q, k, v, is_causal=True)))
            x = x + _mlp(block, x)
        return F.linear(L.layer_norm(p["ln_f"], x), p["wte"])
    return forward


def gpt2_loss(heads):
    forward = gpt2(heads)

    def loss(p, inputs, labels):
        return F.cross_entropy(forward(p, inputs).flatten(0, 1), labels.flatten().long())
    return loss


def gpt2_decode(heads):
    """cache: k, v of each layer in turn, each [b, length, heads, d]; returns the new cache, then the logits."""
    def forward(p, tokens, position, *cache):
        at = position.long()
        mask = (torch.arange(cache[0].shape[1]) <= at)[None, :]
        x = (F.embedding(tokens, p["wte"]) + p["wpe"][at])[:, None, :]
        updated = []
        for i, block in enumerate(p["blocks"]):
            q, k, v = (part.view(*part.shape[:-1], heads, -1) for part in _qkv(block, x))
            k = cache[2 * i].index_copy(1, at.reshape(1), k)
            v = cache[2 * i + 1].index_copy(1, at.reshape(1), v)
            updated += [k, v]
            y = L.attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask)
            x = x + L.linear(block["attn"]["out"], L.merge_heads(y))
            x = x + _mlp(block, x)
        return *updated, F.linear(L.layer_norm(p["ln_f"], x[:, 0]), p["wte"])
    return forward


def _qkv(block, x):
    return L.linear(block["attn"]["qkv"], L.layer_norm(block["ln_1"], x)).chunk(3, -1)


def _mlp(block, x):
    hidden = F.gelu(L.linear(block["mlp"]["up"], L.layer_norm(block["ln_2"], x)), approximate="tanh")
    return L.linear(block["mlp"]["down"], hidden)


def gpt_neo(heads, window):
    def forward(p, tokens):
        s = tokens.shape[1]
        causal = torch.ones(s, s, dtype=torch.bool).tril()
        local = causal & ~causal.tril(-window)
        x = F.embedding(tokens, p["wte"]) + p["wpe"][:s]
        for i, block in enumerate(p["blocks"]):
            y = L.layer_norm(block["ln_1"], x)
            q, k, v = (L.split_heads(y @ block[n], heads) for n in ("q", "k", "v"))
            y = L.attention(q, k, v, attn_mask=local if i % 2 else causal, scale=1.0)
            x = x + L.linear(block["out"], L.merge_heads(y))
            x = x + _mlp(block, x)
        return F.linear(L.layer_norm(p["ln_f"], x), p["wte"])
    return forward
