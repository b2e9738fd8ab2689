// Functions that JAX has serialized: `jax.export.export(f)(x).serialize()`.
#pragma once

#include <optional>
#include <string_view>

namespace tuff::stablehlo {

// The module's bytecode among the bytes of such a file; nothing where it is none.
std::optional<std::string_view> exported_module(std::string_view bytes);

}  // namespace tuff::stablehlo
