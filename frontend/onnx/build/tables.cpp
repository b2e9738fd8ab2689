// All operators: the tables of ops/, by domain.
#include "frontend/onnx/build/call.h"

namespace tuff::onnx {

const std::vector<OpTable>& op_tables() {
  static const std::vector<OpTable> kTables = {
      {"", elementwise_ops()},
      {"", activation_ops()},
      {"", movement_ops()},
      {"", creation_ops()},
      {"", indexing_ops()},
      {"", search_ops()},
      {"", reduction_ops()},
      {"", contraction_ops()},
      {"", convolution_ops()},
      {"", pooling_ops()},
      {"", normalization_ops()},
      {"", resize_ops()},
      {"", sampling_ops()},
      {"", signal_ops()},
      {"", recurrent_ops()},
      {"", loss_ops()},
      {"", attention_ops()},
      {"", quantized_ops()},
      {"", control_ops()},
      {"", sequence_ops()},
      {"", counted_ops()},
      {"", text_ops()},
      {"", refused_ops()},
      {"ai.onnx.preview", preview_ops()},
      {"ai.onnx.preview.training", training_ops()},
      {"ai.onnx.ml", ml_ops()},
      {"com.microsoft", contrib_ops()},
  };
  return kTables;
}

const OpRow* find_op_row(std::string_view domain, std::string_view name) {
  for (const OpTable& table : op_tables()) {
    if (table.domain != domain) continue;
    for (const OpRow& row : table.rows)
      if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace tuff::onnx
