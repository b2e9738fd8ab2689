// The text form of a Graph: what every dump, golden file and bug report is
// written in. parse_graph (ir/text/parse.h) reads it back exactly.
//
//   graph main(%0: f32[4,8] "x", %1: i32[4]) {
//     %2 = constant f32[] 0.5
//     %3 = reduce(%0, %2) {dimensions = [1]} : f32[4] applies add
//     %4:2 = while(%3, %1) : f32[4], i32[4] graph cond(...) {...} graph body(...) {...}
//     donate %0 -> 1
//     return %3 "loss", %4#1
//   }
//
// Values are numbered by node; "%4#1" is result 1 of node 4. A region is a
// nested graph, or "applies OP" where it is one binary op over two scalars.
// Literals: one value stands for all elements; up to 16 are listed in braces;
// more are the bytes in hexadecimal. Floats are the shortest text that reads
// back equal; NaNs other than the canonical one are their bits (0x7fc00001).
#pragma once

#include <string>

#include "ir/graph.h"
#include "ir/text/attribute_text.h"

namespace tuff {

struct PrintOptions {
  bool locations = false;
  // Literals printed as bytes above this size are shown by digest only; such
  // text is for reading and does not parse. Negative: never.
  int64_t elide_above_bytes = -1;
  // Not null: literals that would be printed as bytes are put there, and the text has their place
  // ("apart 3"). parse_graph takes them again.
  std::vector<Literal>* apart = nullptr;
};

std::string print(const Graph& graph, PrintOptions options = {});

// Pieces, for messages: "f32[2,3]", "f32[2] {1, 2}", "[1, 2]".
std::string print_type(const TensorType& type);
std::string print_literal(const Literal& literal, PrintOptions options = {});
std::string print_attr(const AttrValue& value, PrintOptions options = {});

// The operation of a region that is one binary elementwise op over its two
// scalar parameters, in order, or nullopt. Reductions by add, maximum ... look so.
std::optional<Op> simple_body(const Graph& region);

}  // namespace tuff
