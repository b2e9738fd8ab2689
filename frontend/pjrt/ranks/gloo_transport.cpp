// A library of its own: messages between ranks by Gloo, over TCP.
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/pjrt/ranks/transport.h"

namespace tuff::pjrt {

namespace {

using Buffer = gloo::transport::UnboundBuffer;

// Who waits is woken by the connection's end or by an interruption; Gloo's own limit would
// break all connections.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

class Store : public gloo::rendezvous::Store {
 public:
  Store(const TransportStore& store, std::chrono::milliseconds timeout)
      : store_(store), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (store_.put(store_.user, key.c_str(), data.data(), data.size()) != 0)
      throw std::runtime_error("the store of keys does not take " + key);
  }

  std::vector<char> get(const std::string& key) override {
    char* value = nullptr;
    size_t size = 0;
    if (store_.get(store_.user, key.c_str(), static_cast<int>(timeout_.count()), &value, &size) !=
        0)
      throw std::runtime_error("the store of keys has no " + key);
    std::vector<char> data(value, value + size);
    std::free(value);
    return data;
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  TransportStore store_;
  std::chrono::milliseconds timeout_;
};

class Transport {
 public:
  std::shared_ptr<gloo::rendezvous::Context> context;

  // One parcel under way; it is known to the transport as long as it is there.
  class Ticket {
   public:
    Ticket(Transport& transport, const Parcel& parcel)
        : transport_(transport),
          parcel_(parcel),
          buffer_(transport.context->createUnboundBuffer(parcel.data, parcel.size)) {
      std::lock_guard lock(transport_.mutex_);
      transport_.buffers_.insert(buffer_.get());
    }
    ~Ticket() {
      std::lock_guard lock(transport_.mutex_);
      transport_.buffers_.erase(buffer_.get());
    }
    Ticket(const Ticket&) = delete;

    int rank() const { return parcel_.rank; }
    void send() { buffer_->send(parcel_.rank, parcel_.slot); }
    void receive() { buffer_->recv(parcel_.rank, parcel_.slot); }
    // Errors: false where it was interrupted.
    bool sent() { return buffer_->waitSend(nullptr, kForever); }
    bool received() { return buffer_->waitRecv(nullptr, kForever); }

   private:
    Transport& transport_;
    Parcel parcel_;
    std::unique_ptr<Buffer> buffer_;
  };

  bool interrupted() {
    std::lock_guard lock(mutex_);
    return interrupted_;
  }

  void interrupt() {
    std::lock_guard lock(mutex_);
    interrupted_ = true;
    for (Buffer* buffer : buffers_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }

 private:
  std::mutex mutex_;
  std::set<Buffer*> buffers_;  // of the transfers under way
  bool interrupted_ = false;
};

void* connect(int rank, int size, const char* address, const TransportStore* store, int timeout_ms,
              TransportError* error) {
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = address;
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    auto transport = std::make_unique<Transport>();
    transport->context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    std::chrono::milliseconds timeout(timeout_ms);
    transport->context->setTimeout(timeout);
    Store keys(*store, timeout);
    transport->context->connectFullMesh(keys, device);
    return transport.release();
  } catch (const std::exception& exception) {
    fill(error, -1, exception.what());
    return nullptr;
  }
}

int transfer(void* opaque, const Parcel* sends, size_t num_sends, const Parcel* receives,
             size_t num_receives, TransportError* error) {
  auto& transport = *static_cast<Transport*>(opaque);
  int rank = -1;
  try {
    std::vector<std::unique_ptr<Transport::Ticket>> in, out;
    for (size_t i = 0; i < num_receives; ++i)
      in.push_back(std::make_unique<Transport::Ticket>(transport, receives[i]));
    for (size_t i = 0; i < num_sends; ++i)
      out.push_back(std::make_unique<Transport::Ticket>(transport, sends[i]));
    // Whoever interrupts from here on finds the tickets.
    if (transport.interrupted()) throw std::runtime_error("interrupted");
    for (auto& ticket : in) rank = ticket->rank(), ticket->receive();
    for (auto& ticket : out) rank = ticket->rank(), ticket->send();
    bool well = true;
    for (auto& ticket : in) rank = ticket->rank(), well = well && ticket->received();
    for (auto& ticket : out) rank = ticket->rank(), well = well && ticket->sent();
    if (well) return 0;
    rank = -1;
    throw std::runtime_error("interrupted");
  } catch (const std::exception& exception) {
    fill(error, rank, exception.what());
    return 1;
  }
}

void interrupt(void* transport) { static_cast<Transport*>(transport)->interrupt(); }

void close(void* transport) { delete static_cast<Transport*>(transport); }

}  // namespace

}  // namespace tuff::pjrt

extern "C" __attribute__((visibility("default"))) const tuff::pjrt::TransportApi* tuff_transport() {
  using namespace tuff::pjrt;
  static const TransportApi api{kTransportVersion, "gloo", connect, transfer, interrupt, close};
  return &api;
}
