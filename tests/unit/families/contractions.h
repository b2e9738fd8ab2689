// Contractions as graph texts, and a device's run of them beside the reference evaluator.
// Arguments are small integers, so sums are exact.
#pragma once

#include <string>

#include "backend/device.h"
#include "ir/caps.h"

namespace tuff::test {

// [batch, m, k] x [batch, k, n].
std::string dot(const std::string& dtype, int64_t batch, int64_t m, int64_t n, int64_t k);
// [m, k] x [k, n], the result of another type.
std::string mixed_dot(const std::string& dtype, const std::string& result, int64_t m, int64_t n,
                      int64_t k);
// Both operands transposed: rows of A are not contiguous, columns of B are along k. The result
// gets a bias.
std::string transposed_dot(int64_t m, int64_t n, int64_t k, const std::string& dtype = "f32");
// [m, k] x [n, k], both contiguous along k, which has two dimensions. The result is scaled and
// stored twice, once transposed.
std::string two_way_dot(const std::string& dtype, int64_t m, int64_t n, int64_t k0, int64_t k1);
// [m, k] in bf16, converted and padded with ones to k + 3, x [k + 3, n].
std::string padded_dot(int64_t m, int64_t n, int64_t k);
// 2 images of size x size, channels last; padded unless windows stand side by side.
std::string convolution(int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride,
                        const std::string& dtype = "f32");
// 3 x 3 windows, channels first, `in` to `out` channels in each group.
std::string grouped_convolution(int64_t size, int64_t groups, int64_t in, int64_t out);

// The program that `caps` make of the graph keeps the rules of kernels, runs on the device and
// agrees with the evaluator bit for bit.
void expect_agreement(const std::string& text, Device& device, const Caps& caps);

// The GLSL of the kernels that `caps` make of the graph.
std::string kernels_text(const std::string& graph_text, const Caps& caps);
// `text` beside tests/kernels/tiles/<name>.golden (TUFF_REWRITE_GOLDENS=1 writes it).
void expect_golden(const std::string& name, const std::string& text);

}  // namespace tuff::test
