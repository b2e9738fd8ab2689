// Walks over the rows of ir/attributes.def, for what works field by field.
#pragma once

#include "ir/attributes.h"

namespace tuff {

enum class InText { kRequired, kAlways, kUnlessDefault };

// FieldsOf<T>::visit(f) calls f(name, pointer to member, InText) for each field.
template <typename T>
struct FieldsOf;
#define ATTRIBUTES(type, ...) \
  template <>                 \
  struct FieldsOf<type> {     \
    using Self = type;        \
    template <typename Visit> \
    static void visit(Visit visit) {
#define REQUIRED(type, name) visit(#name, &Self::name, InText::kRequired);
#define FIELD(type, name, ...) visit(#name, &Self::name, InText::kAlways);
#define OPTIONAL(type, name, ...) visit(#name, &Self::name, InText::kUnlessDefault);
#define END_ATTRIBUTES \
  }                    \
  }                    \
  ;
#include "ir/attributes.def"

// Calls f with an empty struct of the kind, which is not kNone.
template <typename F>
auto with_attributes(AttrsKind kind, F f) {
  switch (kind) {
    default:
#define ATTRIBUTES(type, ...) \
  case AttrsKind::k##type:    \
    return f(type{});
#define FIELD(...)
#define END_ATTRIBUTES
#include "ir/attributes.def"
  }
}

}  // namespace tuff
