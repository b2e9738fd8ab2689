#include "backend/cpu/host/lapack.h"

#include <fmt/format.h>

#include "backend/cpu/host/lapack_problem.h"
#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// Its integers have 32 bits, and some count several times the elements of a matrix.
constexpr int64_t kMostElements = int64_t{1} << 28;
// Below this many multiply-adds a batch is not worth sharing among threads.
constexpr int64_t kWorthSharing = 1 << 16;

template <typename T>
LapackFunction find_function(HostFunction function) {
  LapackFunction found = find_factorization<T>(function);
  return found ? found : find_spectral<T>(function);
}

LapackFunction find_function(const HostCall& call) {
  HostFunction function = call.function.function;
  bool wide = call.arguments[0].dtype == DType::kF64;
  if (call.function.complex)
    return wide ? find_function<std::complex<double>>(function)
                : find_function<std::complex<float>>(function);
  return wide ? find_function<double>(function) : find_function<float>(function);
}

// Where the matrices are, whose first dimensions are the batch.
const Shape& matrices_of(const HostCall& call) {
  bool right = call.function.function == HostFunction::kGtsv;
  return (right ? call.arguments.back() : call.arguments[0]).shape;
}

size_t num_batch_dims(const HostCall& call) {
  return matrices_of(call).size() - (call.function.complex ? 3 : 2);
}

class LapackCall : public LibraryCall {
 public:
  LapackCall(const HostCall& call, LapackFunction function) : call_(call), function_(function) {
    const Shape& matrices = matrices_of(call_);
    num_batch_ = num_batch_dims(call_);
    for (size_t d = 0; d < num_batch_; ++d) problems_ *= matrices[d];
    work_ = matrices[num_batch_] * matrices[num_batch_ + 1] *
            std::max(matrices[num_batch_], matrices[num_batch_ + 1]);
  }

  Status run(std::span<const CallOperand> operands) override {
    size_t next = 0;
    std::vector<std::byte*> arguments = data(call_.arguments, operands, next);
    std::vector<std::byte*> results = data(call_.results, operands, next);
    SharedRange range(problems_, 1);
    bool shared = problems_ > 1 && problems_ * work_ > kWorthSharing;
    in_parallel(shared ? max_threads() : 1, [&](int) {
      for (int64_t first, last; range.take(first, last);) {
        std::vector<LapackOperand> given = part(call_.arguments, arguments, first);
        std::vector<LapackOperand> made = part(call_.results, results, first);
        function_(LapackProblem{call_.function, given, made});
      }
    });
    return {};
  }

 private:
  static std::vector<std::byte*> data(const std::vector<TensorType>& types,
                                      std::span<const CallOperand> operands, size_t& next) {
    std::vector<std::byte*> data;
    for (const TensorType& type : types)
      data.push_back(type.num_elements() > 0 ? operands[next++].data : nullptr);
    return data;
  }

  // Of one element of the batch.
  std::vector<LapackOperand> part(const std::vector<TensorType>& types,
                                  const std::vector<std::byte*>& data, int64_t index) const {
    std::vector<LapackOperand> operands;
    for (size_t i = 0; i < types.size(); ++i) {
      LapackOperand operand{data[i], std::span(types[i].shape).subspan(num_batch_)};
      if (operand.data != nullptr)
        operand.data += index * operand.count() * dtype_size(types[i].dtype);
      operands.push_back(operand);
    }
    return operands;
  }

  HostCall call_;
  LapackFunction function_;
  size_t num_batch_ = 0;
  int64_t problems_ = 1, work_ = 0;
};

}  // namespace

Result<LibraryCallPtr> create_lapack_call(const HostCall& call) {
  size_t num_batch = num_batch_dims(call);
  for (const std::vector<TensorType>* types : {&call.arguments, &call.results})
    for (const TensorType& type : *types) {
      int64_t elements = 1;
      for (size_t d = num_batch; d < type.shape.size(); ++d) elements *= type.shape[d];
      if (elements <= kMostElements) continue;
      return Error{ErrorCode::kUnsupported,
                   fmt::format("LAPACK's ({}) of matrices with more than ({}) elements ({}) is not "
                               "supported.",
                               word_of(call.function.function), kMostElements, type.to_string()),
                   ""};
    }
  return LibraryCallPtr(std::make_unique<LapackCall>(call, find_function(call)));
}

}  // namespace tuff::cpu
