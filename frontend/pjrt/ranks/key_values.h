// The caller's store of keys and values, which all processes of a program share.
#pragma once

#include <string>
#include <string_view>

#include "frontend/pjrt/abi/abi_client.h"
#include "ir/support/result.h"

namespace tuff::pjrt {

// Thread-safe. The functions live as long as the caller's client does.
class KeyValues {
 public:
  explicit KeyValues(const Client_Create_Args& args);

  bool there() const { return get_ && put_; }
  // A key is put once.
  Status put(const std::string& key, std::string_view value) const;
  // Waits for the key to be put. Errors: kRunFailed with the store's own sentence.
  Result<std::string> get(const std::string& key, int timeout_ms) const;

 private:
  KeyValueGet get_ = nullptr;
  KeyValuePut put_ = nullptr;
  void* get_argument_ = nullptr;
  void* put_argument_ = nullptr;
};

}  // namespace tuff::pjrt
