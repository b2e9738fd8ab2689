// A file of the disk cache: what is taken from one is what was put into it.
#include "backend/cache_entry.h"

#include <algorithm>

#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  std::span<const uint8_t> file(data, size);
  DecodedEntry any = decode_cache_entry(file, nullptr);
  if (!any.value) {
    if (any.doubt.empty()) fuzz::found("A damaged entry without a reason.");
    return 0;
  }
  constexpr size_t kKeyAt = 8 + 4 + 4 + 8;
  Digest key;
  std::copy_n(data + kKeyAt, key.size(), key.begin());
  if (decode_cache_entry(file, &key).value != any.value)
    fuzz::found("An entry is another one for the key in its header.");
  std::vector<uint8_t> again = encode_cache_entry(key, *any.value);
  if (!std::equal(again.begin(), again.end(), file.begin(), file.end()))
    fuzz::found("An accepted entry is none that tuff writes.");
  key[0] ^= 1;
  if (decode_cache_entry(file, &key).value) fuzz::found("An entry is given for another key.");
  return 0;
}
