#include "backend/cpu/gemm/primitive_arguments.h"

#include <algorithm>

namespace tuff::cpu {

dnnl::memory& PrimitiveArguments::operator[](int name) {
  auto at = std::find_if(memories_.begin(), memories_.end(),
                         [&](const auto& argument) { return argument.first == name; });
  if (at != memories_.end()) return at->second;
  return memories_.emplace_back(name, dnnl::memory()).second;
}

void PrimitiveArguments::execute(const dnnl::primitive& primitive, const dnnl::stream& stream) {
  list_.clear();
  for (const auto& [name, memory] : memories_) list_.push_back({name, memory.get()});
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(), stream.get(),
                                                 static_cast<int>(list_.size()), list_.data()),
                          "a primitive did not run");
}

}  // namespace tuff::cpu
