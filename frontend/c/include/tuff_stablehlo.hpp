// tuff_stablehlo.hpp: the text of a Graph (tuff_graph.hpp, which includes this), in StableHLO's own
// syntax.
#ifndef TUFF_STABLEHLO_HPP
#define TUFF_STABLEHLO_HPP

#include <cmath>
#include <cstdio>
#include <string>
#include <tuff_graph.hpp>
#include <utility>
#include <vector>

namespace tuff {

namespace detail {

inline std::string list(const Shape& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}
inline std::string array(const Shape& values) {
  std::string text = "array<i64";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : ": ") + std::to_string(values[i]);
  return text + ">";
}
inline std::string pairs(const std::vector<std::pair<int64_t, int64_t>>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + list({values[i].first, values[i].second});
  return text + "]";
}
inline std::string name_of(Tensor x) { return "%v" + std::to_string(x.node()); }

// Infinities are the ends of the type.
inline std::string integer(double value, DType dtype) {
  bool is_signed = dtype <= DType::kI64;
  auto bits = static_cast<int>(8 * tuff_dtype_size(static_cast<tuff_dtype>(dtype)));
  uint64_t most = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  if (value == INFINITY) return std::to_string(most);
  if (value == -INFINITY) return is_signed ? std::to_string(-static_cast<int64_t>(most) - 1) : "0";
  return is_signed ? std::to_string(static_cast<int64_t>(value))
                   : std::to_string(static_cast<uint64_t>(value));
}
inline std::string number(double value, DType dtype) {
  char text[64];
  if (dtype == DType::kBool) return value != 0 && value != -INFINITY ? "true" : "false";
  if (dtype < DType::kF16) return integer(value, dtype);
  if (std::isfinite(value)) {
    std::snprintf(text, sizeof text, "%.17e", value);
    return text;
  }
  constexpr const char* kInfinity[] = {"0x7C00", "0x7F80", "0x7F800000", "0x7FF0000000000000"};
  constexpr const char* kNegative[] = {"0xFC00", "0xFF80", "0xFF800000", "0xFFF0000000000000"};
  constexpr const char* kNan[] = {"0x7E00", "0x7FC0", "0x7FC00000", "0x7FF8000000000000"};
  auto row = static_cast<size_t>(static_cast<tuff_dtype>(dtype) - TUFF_F16);
  return std::isnan(value) ? kNan[row] : value > 0 ? kInfinity[row] : kNegative[row];
}

inline std::string hex(const std::string& bytes) {
  std::string text = "\"0x";
  for (unsigned char byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02X", byte);
    text += two;
  }
  return text + "\"";
}

// "(tensor<2xf32>, tensor<f32>) -> tensor<2xf32>"
inline std::string signature(const GraphNode& node) {
  std::string text = " : (";
  for (size_t i = 0; i < node.operands.size(); ++i)
    text += (i ? ", " : "") + to_string(node.operands[i].type());
  return text + ") -> " + to_string(node.type);
}

// A region of two scalars and what is done with them.
inline std::string region(const std::string& body, const std::string& result, DType dtype) {
  std::string scalar = to_string({dtype, {}}), out = result.empty() ? scalar : result;
  return "{\n  ^bb0(%a: " + scalar + ", %b: " + scalar + "):\n    %r = " + body +
         "\n    stablehlo.return %r : " + out + "\n  }";
}
inline std::string add_region(DType dtype) {
  return region("stablehlo.add %a, %b : " + to_string({dtype, {}}), "", dtype);
}

inline Shape window_dimensions(const Shape& middle) { return {1, middle[0], middle[1], 1}; }
inline std::string window_padding(const Pooling& how) {
  return "dense<" + pairs({{0, 0}, how.padding[0], how.padding[1], {0, 0}}) + "> : tensor<4x2xi64>";
}

}  // namespace detail

inline std::string Graph::statement(size_t index) const {
  using detail::name_of;
  using Kind = GraphNode::Kind;
  const GraphNode& node = nodes_[index];
  std::string type = to_string(node.type), all;
  for (size_t i = 0; i < node.operands.size(); ++i)
    all += (i ? ", " : "") + name_of(node.operands[i]);
  std::string signature = detail::signature(node);
  switch (node.kind) {
    case Kind::kInput: break;
    case Kind::kConstant:
      return "stablehlo.constant dense<" + detail::number(node.value, node.type.dtype) +
             "> : " + type;
    case Kind::kLiteral:
      if (node.bytes.empty()) return "stablehlo.constant dense<> : " + type;
      return "stablehlo.constant dense<" + detail::hex(node.bytes) + "> : " + type;
    case Kind::kIota:
      return "stablehlo.iota dim = " + std::to_string(node.dimensions[0]) + " : " + type;
    case Kind::kElementwise: return "stablehlo." + node.name + " " + all + " : " + type;
    case Kind::kCompare: return "stablehlo.compare " + node.name + ", " + all + signature;
    case Kind::kSelect:
      return "stablehlo.select " + all + " : " + to_string(node.operands[0].type()) + ", " + type;
    case Kind::kConvert: return "stablehlo.convert " + all + signature;
    case Kind::kBroadcastInDim:
      return "stablehlo.broadcast_in_dim " + all + ", dims = " + detail::list(node.dimensions) +
             signature;
    case Kind::kReshape: return "stablehlo.reshape " + all + signature;
    case Kind::kTranspose:
      return "stablehlo.transpose " + all + ", dims = " + detail::list(node.dimensions) + signature;
    case Kind::kReverse:
      return "stablehlo.reverse " + all + ", dims = " + detail::list(node.dimensions) + " : " +
             type;
    case Kind::kReduce:
      return "stablehlo.reduce(" + name_of(node.operands[0]) +
             " init: " + name_of(node.operands[1]) + ") applies stablehlo." + node.name +
             " across dimensions = " + detail::list(node.dimensions) + signature;
    case Kind::kDotGeneral: {
      const DotDimensions& dot = node.dot;
      std::string batch = dot.lhs_batch.empty()
                              ? ""
                              : ", batching_dims = " + detail::list(dot.lhs_batch) + " x " +
                                    detail::list(dot.rhs_batch);
      return "stablehlo.dot_general " + all + batch +
             ", contracting_dims = " + detail::list(dot.lhs_contracting) + " x " +
             detail::list(dot.rhs_contracting) + signature;
    }
    case Kind::kConvolution: {
      const Convolution& how = node.convolution;
      return "stablehlo.convolution(" + all + ") dim_numbers = " + how.dimensions +
             ", window = {stride = " + detail::list(how.strides) +
             ", pad = " + detail::pairs(how.padding) +
             ", lhs_dilate = " + detail::list(how.lhs_dilation) +
             ", rhs_dilate = " + detail::list(how.rhs_dilation) +
             "} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}" + signature;
    }
    case Kind::kSlice: {
      std::string ranges;
      for (size_t i = 0; i < node.starts.size(); ++i)
        ranges +=
            (i ? ", " : "") + std::to_string(node.starts[i]) + ":" + std::to_string(node.limits[i]);
      return "stablehlo.slice " + all + " [" + ranges + "]" + signature;
    }
    case Kind::kPad:
      return "stablehlo.pad " + all + ", low = " + detail::list(node.starts) +
             ", high = " + detail::list(node.limits) +
             ", interior = " + detail::list(Shape(node.starts.size(), 0)) + signature;
    case Kind::kConcatenate:
      return "stablehlo.concatenate " + all + ", dim = " + std::to_string(node.dimensions[0]) +
             signature;
    case Kind::kTake: {
      Shape window, sizes = node.operands[0].shape();
      int64_t indices = node.operands[1].rank();
      for (int64_t d = indices; d < static_cast<int64_t>(node.type.shape.size()); ++d)
        window.push_back(d);
      sizes[0] = 1;
      return "\"stablehlo.gather\"(" + all +
             ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + detail::list(window) +
             ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = " +
             std::to_string(indices) + ">, slice_sizes = " + detail::array(sizes) + "}>" +
             signature;
    }
    case Kind::kAddRows: {  // operands: zeros, indices, rows
      Shape window;
      int64_t indices = node.operands[1].rank();
      for (int64_t d = indices; d < node.operands[2].rank(); ++d) window.push_back(d);
      return "\"stablehlo.scatter\"(" + all +
             ") <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = " +
             detail::list(window) +
             ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim "
             "= " +
             std::to_string(indices) + ">}> (" + detail::add_region(node.type.dtype) + ")" +
             signature;
    }
    case Kind::kMaxPool: {
      std::string scalar = to_string({node.type.dtype, {}});
      return "\"stablehlo.reduce_window\"(" + all + ") <{window_dimensions = " +
             detail::array(detail::window_dimensions(node.pooling.window)) + ", window_strides = " +
             detail::array(detail::window_dimensions(node.pooling.strides)) +
             ", padding = " + detail::window_padding(node.pooling) + "}> (" +
             detail::region("stablehlo.maximum %a, %b : " + scalar, "", node.type.dtype) + ")" +
             signature;
    }
    case Kind::kMaxPoolGradient: {  // operands: input, gradient of the result, zero
      std::string scalar = to_string({node.type.dtype, {}});
      return "\"stablehlo.select_and_scatter\"(" + all + ") <{window_dimensions = " +
             detail::array(detail::window_dimensions(node.pooling.window)) + ", window_strides = " +
             detail::array(detail::window_dimensions(node.pooling.strides)) +
             ", padding = " + detail::window_padding(node.pooling) + "}> (" +
             detail::region(
                 "stablehlo.compare GE, %a, %b : (" + scalar + ", " + scalar + ") -> tensor<i1>",
                 "tensor<i1>", node.type.dtype) +
             ", " + detail::add_region(node.type.dtype) + ")" + signature;
    }
  }
  return "";
}

inline std::string Graph::stablehlo() const {
  std::string text = "func.func @main(", types, values;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const GraphNode& node = nodes_[inputs_[i]];
    text += (i ? ", %v" : "%v") + std::to_string(inputs_[i]) + ": " + to_string(node.type) +
            " {jax.arg_name = \"" + node.name + "\"";
    if (donated_to_[i] >= 0)
      text += ", tf.aliasing_output = " + std::to_string(donated_to_[i]) + " : i32";
    text += "}";
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::string type = to_string(outputs_[i].second.type());
    text += (i ? ", " : ") -> (") + type + " {jax.result_info = \"" + outputs_[i].first + "\"}";
    types += (i ? ", " : "") + type;
    values += (i ? ", " : "") + detail::name_of(outputs_[i].second);
  }
  require(!outputs_.empty(), "A graph needs an output.");
  text += ") {\n";
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].kind != GraphNode::Kind::kInput)
      text += "  %v" + std::to_string(i) + " = " + statement(i) + "\n";
  return text + "  return " + values + " : " + types + "\n}\n";
}

}  // namespace tuff

#endif  // TUFF_STABLEHLO_HPP
