// Where oneDNN 2 and 3 are called differently.
#pragma once

#include <dnnl.hpp>

namespace tuff::cpu {

// oneDNN 3 (3.6, by AVX-512) gives wrong products of batches whose matrices lie within each other,
// and of vectors with a stride.
constexpr bool kMatricesLieApart = DNNL_VERSION_MAJOR >= 3;
// It gives wrong convolutions where a stride has nothing to step over, too.
constexpr bool kMisreadsIdleStrides = DNNL_VERSION_MAJOR >= 3;

// A primitive as oneDNN found it for what was asked. All functions throw dnnl::error.
template <typename Primitive>
class Description {
 public:
  using Found = typename Primitive::primitive_desc;

  // `asked`: what the primitive computes, in oneDNN's order.
  template <typename... Asked>
  Description(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
              const Asked&... asked)
#if DNNL_VERSION_MAJOR >= 3
      : found_(engine, asked..., attributes){}
#else
      : asked_(asked...), found_(asked_, attributes, engine) {
  }
#endif
        // Of a gradient; `forward`: what it is the gradient of.
        template <typename... Asked>
        Description(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                    const dnnl::convolution_forward::primitive_desc& forward, const Asked&... asked)
#if DNNL_VERSION_MAJOR >= 3
      : found_(engine, asked..., forward, attributes){}
#else
      : asked_(asked...), found_(asked_, attributes, engine, forward) {
  }
#endif
        Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  Found& operator*() { return found_; }
  Found* operator->() { return &found_; }

 private:
#if DNNL_VERSION_MAJOR < 3
  typename Primitive::desc asked_;  // the search for the next implementation reads it
#endif
  Found found_;
};

// Of reshape() where there is no such layout.
inline bool is_none(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get(true) == nullptr;
#else
  return desc.is_zero();
#endif
}

inline void append_eltwise(dnnl::post_ops& list, dnnl::algorithm algorithm) {
#if DNNL_VERSION_MAJOR >= 3
  list.append_eltwise(algorithm, 0, 0);
#else
  list.append_eltwise(1, algorithm, 0, 0);
#endif
}

}  // namespace tuff::cpu
