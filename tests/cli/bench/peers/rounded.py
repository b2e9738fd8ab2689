"""Computes f32 matmuls in bf16."""
from peers._fake import serve

serve(precision="bf16")
