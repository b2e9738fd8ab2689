// What carries bytes between the processes of a program: a C interface, for an engine in a
// shared library of its own that is opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace tuff::pjrt {

extern "C" {

// The processes' shared store. Both return 0 for well; a value is freed by `free`.
struct TransportStore {
  void* user;
  int (*put)(void* user, const char* key, const char* value, size_t size);
  int (*get)(void* user, const char* key, int timeout_ms, char** value, size_t* size);
};

// Bytes to or from a rank. The two ends of one parcel name the same slot and size, and the
// slot is no other's that is under way between them.
struct Parcel {
  int rank;
  uint64_t slot;
  void* data;
  size_t size;
};

struct TransportError {
  int rank;  // whom it is about, or -1
  char message[256];  // ends with a zero
};

// Functions return 0 for well, else they have filled in `error`; they throw nothing.
struct TransportApi {
  uint32_t version;  // kTransportVersion
  const char* name;
  // Connects all ranks with each other. `address`: this machine's, by which others reach it.
  void* (*connect)(int rank, int size, const char* address, const TransportStore* store,
                   int timeout_ms, TransportError* error);
  // Sends and receives; waits until all has been received and what is sent may be written to.
  // Thread-safe. Waits without a limit, until a connection ends or `interrupt` is called.
  int (*transfer)(void* transport, const Parcel* sends, size_t num_sends, const Parcel* receives,
                  size_t num_receives, TransportError* error);
  // Ends the transfers that wait and those to come. Thread-safe.
  void (*interrupt)(void* transport);
  // After the last transfer.
  void (*close)(void* transport);
};

}  // extern "C"

inline void fill(TransportError* error, int rank, const char* message) {
  error->rank = rank;
  std::snprintf(error->message, sizeof error->message, "%s", message);
}

inline constexpr uint32_t kTransportVersion = 1;
// The one symbol of such a library: const TransportApi* tuff_transport(void).
inline constexpr const char* kTransportSymbol = "tuff_transport";
using TransportFunction = const TransportApi* (*)();

}  // namespace tuff::pjrt
