// The arguments of one of oneDNN's primitives, kept from run to run.
#pragma once

#include <dnnl.hpp>
#include <utility>
#include <vector>

namespace tuff::cpu {

// dnnl::primitive::execute takes a map, and makes a list of it for each run; this is that list.
class PrimitiveArguments {
 public:
  // The memory that stands for DNNL_ARG_...; an empty one at first.
  dnnl::memory& operator[](int name);
  // Throws dnnl::error.
  void execute(const dnnl::primitive& primitive, const dnnl::stream& stream);

 private:
  std::vector<std::pair<int, dnnl::memory>> memories_;
  std::vector<dnnl_exec_arg_t> list_;
};

}  // namespace tuff::cpu
