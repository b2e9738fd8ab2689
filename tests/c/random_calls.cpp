// Random calls of tuff.h, right and wrong ones, on objects that come and go: c_random_calls DEVICE
// CALLS [SEED]. A call that fails has a status and a message and leaves its results alone. Ends
// with 77 where the device is not there.
#include <tuff.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr const char* kModels[] = {
    "func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {\n"
    "  %0 = stablehlo.add %x, %y : tensor<3xf32>\n  return %0 : tensor<3xf32>\n}\n",
    "func.func @main(%x: tensor<3xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<3xf32>, "
    "tensor<f32>) {\n"
    "  %0 = stablehlo.add %x, %x : tensor<3xf32>\n  %1 = stablehlo.constant dense<1.0> : "
    "tensor<f32>\n"
    "  return %0, %1 : tensor<3xf32>, tensor<f32>\n}\n",
    "func.func @main(%x: tensor<?xi32>) -> tensor<?xi32> {\n"
    "  %0 = stablehlo.negate %x : tensor<?xi32>\n  return %0 : tensor<?xi32>\n}\n",
    "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n  return %y : tensor<3xf32>\n}\n",
    "no model",
    ""};
constexpr int64_t kShapes[][2] = {
    {3, 1}, {3, 3}, {0, 5}, {-1, 2}, {int64_t{1} << 40, int64_t{1} << 40}};

template <typename T, void (*destroy)(T*)>
struct Pool {
  using Object = T*;
  std::vector<T*> objects;

  ~Pool() {
    for (T* object : objects) destroy(object);
  }
  void keep(T* made) {
    if (made) objects.push_back(made);
  }
};

class Caller {
 public:
  Caller(const char* device, unsigned seed) : id_(device), random_(seed) {
    context_.keep(make_context());
  }

  void call() {
    switch (below(18)) {
      case 0: return context_.objects.size() < 4 ? context_.keep(make_context()) : void();
      case 1: return open();
      case 2:
      case 3:
      case 4: return create_buffer();
      case 5:
      case 6: return compile();
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: return run();
      case 12: return ask();
      case 13: return read_and_write();
      case 14: return bind();
      case 15: return wait();
      case 16: return destroy_some();
      default: return import_and_export();
    }
  }

  bool has_device() {
    open_one("");
    return !device_.objects.empty();
  }
  void print() const {
    for (const auto& [status, count] : statuses_)
      std::printf("%s: %ld\n", tuff_status_name(status), count);
  }
  long wrong = 0;

 private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  // One of the pool's, seldom NULL.
  template <typename P>
  typename P::Object pick(P& pool) {
    if (pool.objects.empty() || below(20) == 0) return nullptr;
    return pool.objects[below(pool.objects.size())];
  }

  bool ok(tuff_status status, const char* what) {
    ++statuses_[status];
    if (status == TUFF_OK || status == TUFF_TIMEOUT) return status == TUFF_OK;
    if (std::strcmp(tuff_status_name(status), "unknown status") == 0 || tuff_last_error()[0] == 0)
      ++wrong, std::printf("%s: status %d: %s\n", what, status, tuff_last_error());
    if (status == TUFF_RUN_FAILED || status == TUFF_DEVICE_LOST || status == TUFF_NO_DEVICE)
      if (std::strcmp(what, "open") != 0) ++wrong, std::printf("%s: %s\n", what, tuff_last_error());
    return false;
  }

  static tuff_context* make_context() {
    tuff_context* made = nullptr;
    tuff_context_create(nullptr, &made);
    return made;
  }
  void open_one(const char* mistake) {
    tuff_device* made = nullptr;
    if (ok(tuff_device_open(pick(context_), (id_ + mistake).c_str(), &made), "open"))
      device_.keep(made);
  }
  void open() {
    constexpr const char* kMistakes[] = {"", "", "", ":", ":-1", ":99999999999999999999", " "};
    if (device_.objects.size() < 3) open_one(kMistakes[below(7)]);
  }

  tuff_tensor_type type() {
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    bool usual = below(4) != 0;
    type.dtype = usual ? static_cast<tuff_dtype>(TUFF_F32) : static_cast<tuff_dtype>(below(30)) - 1;
    type.rank = usual ? 1 : static_cast<uint32_t>(below(3));
    type.shape = kShapes[usual ? 0 : below(5)];
    if (below(50) == 0) type.rank = 0xFFFFFFF0u;
    if (below(50) == 0) type.struct_size = below(8);
    if (below(50) == 0) type.shape = nullptr;
    return type;
  }
  void create_buffer() {
    tuff_tensor_type wanted = type();
    tuff_buffer* made = nullptr;
    static const char kData[1024] = {};
    const void* data = below(2) ? kData : nullptr;
    if (ok(tuff_buffer_create(pick(device_), below(50) ? &wanted : nullptr, data, &made), "create"))
      buffer_.keep(made);
  }

  void compile() {
    tuff_compile_options options = TUFF_INIT(tuff_compile_options);
    const char* text = kModels[below(8) < 5 ? below(2) : below(6)];
    options.bytes = text, options.num_bytes = std::strlen(text);
    if (below(10) == 0) options.num_bytes /= 2;
    if (below(30) == 0) options.path = "no/such/file";
    tuff_argument_shape shape = {"x", below(9) ? 1u : 2u, kShapes[below(4)]};
    bool open = std::strchr(text, '?') != nullptr;
    if (below(10) == 0 || (open && below(4))) options.shapes = &shape, options.num_shapes = 1;
    tuff_argument_value value = {"x", TUFF_I32, 1, kShapes[0], below(4) ? "twelve bytes" : nullptr};
    if (below(4) == 0) options.values = &value, options.num_values = 1;
    if (below(20) == 0)
      options.progress = [](void*, const char*, int64_t, int64_t) { return int32_t{1}; };
    tuff_program* made = nullptr;
    if (ok(tuff_program_compile(pick(device_), &options, &made), "compile")) program_.keep(made);
    if (options.bytes && made == nullptr && options.progress == nullptr) return;
    if (program_.objects.size() > 12) destroy_one(program_, tuff_program_destroy);
  }

  void run() {
    tuff_program* program = pick(program_);
    tuff_program_info info = TUFF_INIT(tuff_program_info);
    if (!ok(tuff_program_get_info(program, &info), "info")) return;
    std::vector<tuff_buffer*> arguments(info.num_arguments + 1), results(info.num_results + 1);
    std::vector<tuff_buffer*> outputs(info.num_results + 1);
    for (size_t i = 0; i < info.num_arguments; ++i) arguments[i] = pick(buffer_);
    tuff_run_options options = TUFF_INIT(tuff_run_options);
    size_t donated = below(3);
    if (below(4) == 0) options.donated = &donated, options.num_donated = 1;
    if (below(6) == 0) outputs[0] = pick_written(), options.outputs = outputs.data();
    size_t num_arguments = info.num_arguments + (below(15) ? 0 : 1);
    size_t num_results = info.num_results + (below(15) ? 0 : 1);
    tuff_event* event = nullptr;
    bool done = below(2)
                    ? ok(tuff_program_run(program, &options, arguments.data(), num_arguments,
                                          results.data(), num_results),
                         "run")
                    : ok(tuff_program_run_async(program, &options, arguments.data(), num_arguments,
                                                results.data(), num_results, &event),
                         "run_async");
    for (tuff_buffer* result : results) {
      if (result && !done) ++wrong, std::printf("a run that failed gave a result\n");
      buffer_.keep(result);
    }
    event_.keep(event);
    while (buffer_.objects.size() > 40) destroy_one(buffer_, tuff_buffer_destroy);
    while (event_.objects.size() > 10) destroy_one(event_, tuff_event_destroy);
  }

  void ask() {
    tuff_value_info value = TUFF_INIT(tuff_value_info);
    tuff_step_info step = TUFF_INIT(tuff_step_info);
    tuff_device_info device = TUFF_INIT(tuff_device_info);
    tuff_cache_info cache = TUFF_INIT(tuff_cache_info);
    size_t index = below(3), count = 0;
    ok(tuff_program_argument(pick(program_), index, &value), "argument");
    ok(tuff_program_result(pick(program_), index, &value), "result");
    ok(tuff_program_step(pick(program_), index, &step), "step");
    ok(tuff_device_get_info(pick(device_), &device), "device");
    ok(tuff_context_count_devices(pick(context_), &count), "count");
    ok(tuff_context_device_info(pick(context_), index, &device), "device");
    ok(tuff_cache_get_info(pick(context_), &cache), "cache");
  }

  // A buffer, or none: who writes to memory that is shared by DLPack has to wait for its readers.
  tuff_buffer* pick_written() {
    tuff_buffer* buffer = pick(buffer_);
    return shared_.count(buffer) ? nullptr : buffer;
  }

  void read_and_write() {
    tuff_buffer* buffer = pick(buffer_);
    std::vector<char> data(tuff_buffer_size(buffer) + 8, 1);
    size_t size = data.size() - (below(5) ? 8 : below(8));
    const void* host = nullptr;
    tuff_vulkan_buffer place = TUFF_INIT(tuff_vulkan_buffer);
    ok(tuff_buffer_read(buffer, data.data(), size), "read");
    ok(tuff_buffer_write(pick_written(), data.data(), size), "write");
    ok(tuff_buffer_host_data(pick(buffer_), &host), "host_data");
    ok(tuff_buffer_vulkan(pick(buffer_), &place), "vulkan");
  }

  void bind() { ok(tuff_program_bind(pick(program_), below(3), pick(buffer_)), "bind"); }

  void wait() {
    tuff_event* event = pick(event_);
    ok(tuff_event_wait(event, below(2) ? 0 : UINT64_MAX), "wait");
    ok(tuff_event_on_done(event, below(9) ? +[](void*, tuff_status) {} : nullptr, nullptr),
       "on_done");
  }

  void import_and_export() {
    alignas(16) static const float kData[16] = {};
    tuff_tensor_type wanted = type();
    tuff_buffer* made = nullptr;
    const bool fits = wanted.rank <= 1 && wanted.shape == kShapes[0];
    if (ok(tuff_buffer_import_host(pick(device_), &wanted, fits ? kData : nullptr, nullptr, nullptr,
                                   &made),
           "import"))
      buffer_.keep(made);
    DLManagedTensor* tensor = nullptr;
    tuff_buffer* shared = pick(buffer_);
    if (!ok(tuff_buffer_export_dlpack(shared, &tensor), "export")) return;
    shared_.insert(shared);
    if (ok(tuff_buffer_import_dlpack(pick(device_), tensor, &made), "import_dlpack"))
      return buffer_.keep(made);
    // Not taken: its deleter is ours to call, behind 48 bytes of tensor and the manager's pointer.
    void (*deleter)(DLManagedTensor*) = nullptr;
    std::memcpy(&deleter, reinterpret_cast<char*>(tensor) + 56, sizeof deleter);
    deleter(tensor);
  }

  template <typename P, typename Destroy>
  void destroy_one(P& pool, Destroy destroy) {
    if (pool.objects.empty()) return;
    size_t at = below(pool.objects.size());
    destroy(pool.objects[at]);
    pool.objects.erase(pool.objects.begin() + static_cast<ptrdiff_t>(at));
  }
  void destroy_some() {
    switch (below(6)) {
      case 0:
        return context_.objects.size() > 1 ? destroy_one(context_, tuff_context_destroy) : void();
      case 1: return below(4) ? void() : destroy_one(device_, tuff_device_destroy);
      case 2: return destroy_one(program_, tuff_program_destroy);
      case 3: return destroy_one(event_, tuff_event_destroy);
      default: return destroy_one(buffer_, tuff_buffer_destroy);
    }
  }

  std::string id_;
  std::mt19937 random_;
  std::map<tuff_status, long> statuses_;
  Pool<tuff_context, tuff_context_destroy> context_;
  Pool<tuff_device, tuff_device_destroy> device_;
  Pool<tuff_buffer, tuff_buffer_destroy> buffer_;
  std::set<const tuff_buffer*> shared_;  // by DLPack, at some time
  Pool<tuff_program, tuff_program_destroy> program_;
  Pool<tuff_event, tuff_event_destroy> event_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Caller caller(argv[1], argc > 3 ? static_cast<unsigned>(std::atol(argv[3])) : 1);
  for (int tries = 0; !caller.has_device(); ++tries)
    if (tries == 100)
      return std::printf("skipped: no device %s: %s\n", argv[1], tuff_last_error()), 77;
  for (long i = 0; i < std::atol(argv[2]); ++i) caller.call();
  caller.print();
  std::printf("%ld wrong\n", caller.wrong);
  return caller.wrong > 0 ? 1 : 0;
}
