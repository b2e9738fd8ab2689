#include "backend/cpu/host/host_call.h"

#ifdef TUFF_HAS_LAPACK
#include "backend/cpu/host/lapack.h"
#endif
#include "backend/host_callbacks.h"

namespace tuff::cpu {

namespace {

// A function of the process's owner.
class Callback : public LibraryCall {
 public:
  explicit Callback(const HostCall& call) : call_(call) {
    if (!call_.function.has_token) return;
    call_.arguments.pop_back();
    call_.results.pop_back();
  }

  Status run(std::span<const CallOperand> operands) override {
    size_t next = 0;
    std::vector<HostTensor> arguments = tensors(call_.arguments, operands, next);
    if (call_.function.has_token) ++next;
    std::vector<HostTensor> results = tensors(call_.results, operands, next);
    if (call_.function.has_token) *operands[next].data = std::byte{0};
    return call_host(call_.function.callback, arguments, results);
  }

 private:
  static std::vector<HostTensor> tensors(const std::vector<TensorType>& types,
                                         std::span<const CallOperand> operands, size_t& next) {
    std::vector<HostTensor> tensors;
    for (const TensorType& type : types)
      tensors.push_back({type.num_elements() > 0 ? operands[next++].data : nullptr, &type});
    return tensors;
  }

  HostCall call_;
};

}  // namespace

Result<LibraryCallPtr> create_host_call(const HostCall& call) {
  if (call.function.function == HostFunction::kCallback)
    return LibraryCallPtr(std::make_unique<Callback>(call));
#ifdef TUFF_HAS_LAPACK
  return create_lapack_call(call);
#else
  return Error{ErrorCode::kUnsupported,
               std::string("The program needs LAPACK (") + word_of(call.function.function) +
                   "), and this build of tuff has none; install liblapack-dev and build it anew.",
               ""};
#endif
}

}  // namespace tuff::cpu
