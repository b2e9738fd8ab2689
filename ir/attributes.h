// The attributes of operations, typed: ir/attributes.def has the rows.
//
//   node.attrs.as<SliceAttrs>().start_indices
//   add_op(graph, Op::kTranspose, {v}, type, TransposeAttrs{permutation})
//   node.attrs.edit<CompareAttrs>().compare_type = CompareType::kSigned
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/composite.h"
#include "ir/group/group_kind.h"
#include "ir/literal.h"
#include "ir/op.h"

namespace tuff {

#define ENUM(type) enum class type {
#define ENUMERATOR(enumerator, ...) enumerator,
#define END_ENUM \
  }              \
  ;
#include "ir/attributes.def"

enum class AttrsKind {
  kNone,
#define ATTRIBUTES(type, ...) k##type,
#define FIELD(...)
#define END_ATTRIBUTES
#include "ir/attributes.def"
};

#define ATTRIBUTES(type, ...) \
  struct type {               \
    static constexpr AttrsKind kKind = AttrsKind::k##type;
#define FIELD(type, name, ...) type name = __VA_ARGS__;
#define END_ATTRIBUTES \
  }                    \
  ;
#include "ir/attributes.def"

// Which struct the operation's attributes are; kNone where it has none.
AttrsKind attrs_kind(Op op);

// The words of an enum, in the order of its enumerators.
template <typename E>
std::span<const char* const> words_of();
#define ENUM(type) \
  template <>      \
  std::span<const char* const> words_of<type>();
#define ENUMERATOR(...)
#define END_ENUM
#include "ir/attributes.def"
template <>
std::span<const char* const> words_of<GroupKind>();

template <typename E>
const char* word_of(E value) {
  return words_of<E>()[static_cast<size_t>(value)];
}
template <typename E>
std::optional<E> parse_word(std::string_view word) {
  std::span<const char* const> words = words_of<E>();
  for (size_t i = 0; i < words.size(); ++i)
    if (word == words[i]) return static_cast<E>(i);
  return std::nullopt;
}

// Without a total order.
inline CompareType compare_type_of(DType dtype) {
  if (is_float(dtype)) return CompareType::kFloat;
  return is_signed_int(dtype) ? CompareType::kSigned : CompareType::kUnsigned;
}
// The direction that says the same of swapped sides.
ComparisonDirection mirrored(ComparisonDirection direction);

template <typename T>
concept AttributesStruct = requires {
  T::kKind;
};

// One of the structs, or nothing, which reads as the defaults. Copies share it.
class Attrs {
 public:
  Attrs() = default;
  template <AttributesStruct T>
  Attrs(T attributes);

  AttrsKind kind() const { return kind_; }
  // It must be this struct; `find` is null where it is not.
  template <AttributesStruct T>
  const T& as() const {
    return *static_cast<const T*>(held(T::kKind));
  }
  template <AttributesStruct T>
  const T* find() const {
    return kind_ == T::kKind ? static_cast<const T*>(held_.get()) : nullptr;
  }
  // For writing. Other copies keep what they have.
  template <AttributesStruct T>
  T& edit();
  // Where it is nothing, the defaults of the operation. False: it is another operation's.
  bool complete(Op op);

  // Doubles compare by bits, as Literals do: NaN equals itself, +0 and -0 differ.
  bool operator==(const Attrs& other) const;
  uint64_t hash() const;

 private:
  const void* held(AttrsKind kind) const;

  AttrsKind kind_ = AttrsKind::kNone;
  std::shared_ptr<void> held_;
};

// The list, or `missing` for each of `count` dimensions where it is empty.
std::vector<int64_t> list_or(const std::vector<int64_t>& list, size_t count, int64_t missing);

}  // namespace tuff
