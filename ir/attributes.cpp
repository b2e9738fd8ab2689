#include "ir/attributes.h"

#include <bit>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "ir/attribute_fields.h"
#include "ir/support/hash.h"

namespace tuff {

namespace {

struct Row {
  AttrsKind kind;
  std::vector<Op> ops;
};

template <typename T>
uint64_t hash_field(uint64_t h, const T& value) {
  if constexpr (std::is_same_v<T, double>)
    return hash_mix(h, std::bit_cast<uint64_t>(value));
  else if constexpr (std::is_same_v<T, std::string>)
    return hash_string(value, h);
  else if constexpr (std::is_same_v<T, Literal>)
    return hash_mix(h, value.hash());
  else if constexpr (std::is_same_v<T, Composite>)
    return hash_mix(h, hash_of(value));
  else
    return hash_mix(h, static_cast<uint64_t>(value));
}
template <typename T>
uint64_t hash_field(uint64_t h, const std::vector<T>& list) {
  return hash_bytes(list.data(), list.size() * sizeof(T), h);
}
template <typename T>
uint64_t hash_field(uint64_t h, const std::optional<T>& value) {
  return value ? hash_field(h, *value) : hash_mix(h, ~uint64_t{0});
}

bool same_field(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}
template <typename T>
bool same_field(const T& a, const T& b) {
  return a == b;
}

const std::shared_ptr<void>& defaults(AttrsKind kind) {
  static const std::vector<std::shared_ptr<void>> kDefaults = [] {
    std::vector<std::shared_ptr<void>> made{nullptr};
#define ATTRIBUTES(type, ...) made.push_back(std::make_shared<type>());
#define FIELD(...)
#define END_ATTRIBUTES
#include "ir/attributes.def"
    return made;
  }();
  return kDefaults[static_cast<size_t>(kind)];
}

}  // namespace

#define ENUM(type)                                \
  template <>                                     \
  std::span<const char* const> words_of<type>() { \
    static constexpr const char* const kWords[] = {
#define ENUMERATOR(enumerator, word) word,
#define END_ENUM \
  }              \
  ;              \
  return kWords; \
  }
#include "ir/attributes.def"

template <>
std::span<const char* const> words_of<GroupKind>() {
  static constexpr const char* const kWords[] = {
#define FAMILY(kind, name, ...) name,
#include "ir/group/family.def"
  };
  return kWords;
}

ComparisonDirection mirrored(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt: return ComparisonDirection::kGt;
    case ComparisonDirection::kLe: return ComparisonDirection::kGe;
    case ComparisonDirection::kGt: return ComparisonDirection::kLt;
    case ComparisonDirection::kGe: return ComparisonDirection::kLe;
    default: return direction;
  }
}

AttrsKind attrs_kind(Op op) {
  static const std::vector<AttrsKind> kKinds = [] {
    const Row rows[] = {
#define ATTRIBUTES(type, ...) {AttrsKind::k##type, {__VA_ARGS__}},
#define FIELD(...)
#define END_ATTRIBUTES
#include "ir/attributes.def"
    };
    std::vector<AttrsKind> kinds(kNumOps, AttrsKind::kNone);
    for (const Row& row : rows)
      for (Op of : row.ops) kinds[static_cast<size_t>(of)] = row.kind;
    return kinds;
  }();
  return kKinds[static_cast<size_t>(op)];
}

template <AttributesStruct T>
Attrs::Attrs(T attributes) : kind_(T::kKind), held_(std::make_shared<T>(std::move(attributes))) {}

template <AttributesStruct T>
T& Attrs::edit() {
  if (kind_ != T::kKind || held_.use_count() != 1) *this = Attrs(T(as<T>()));
  return *static_cast<T*>(held_.get());
}

#define ATTRIBUTES(type, ...)  \
  template Attrs::Attrs(type); \
  template type& Attrs::edit<type>();
#define FIELD(...)
#define END_ATTRIBUTES
#include "ir/attributes.def"

const void* Attrs::held(AttrsKind kind) const {
  TUFF_CHECK(kind_ == kind || kind_ == AttrsKind::kNone, "the attributes are of the operation");
  return kind_ == kind ? held_.get() : defaults(kind).get();
}

bool Attrs::complete(Op op) {
  AttrsKind kind = attrs_kind(op);
  if (kind_ == AttrsKind::kNone) {
    kind_ = kind;
    held_ = defaults(kind);
  }
  return kind_ == kind;
}

bool Attrs::operator==(const Attrs& other) const {
  if (kind_ != other.kind_) return false;
  if (held_ == other.held_) return true;
  return with_attributes(kind_, [&]<typename T>(const T&) {
    const T &a = as<T>(), &b = other.as<T>();
    bool same = true;
    FieldsOf<T>::visit(
        [&](const char*, auto field, InText) { same = same && same_field(a.*field, b.*field); });
    return same;
  });
}

uint64_t Attrs::hash() const {
  if (kind_ == AttrsKind::kNone) return 0;
  return with_attributes(kind_, [&]<typename T>(const T&) {
    const T& attributes = as<T>();
    auto h = static_cast<uint64_t>(kind_);
    FieldsOf<T>::visit(
        [&](const char*, auto field, InText) { h = hash_field(h, attributes.*field); });
    return h;
  });
}

std::vector<int64_t> list_or(const std::vector<int64_t>& list, size_t count, int64_t missing) {
  return list.empty() ? std::vector<int64_t>(count, missing) : list;
}

}  // namespace tuff
