#include "backend/verify/asked.h"

#include <cstdlib>
#include <string_view>

namespace tuff {

bool verification_asked() {
  static const bool asked = [] {
    const char* value = std::getenv("TUFF_VERIFY");
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
  }();
  return asked;
}

}  // namespace tuff
