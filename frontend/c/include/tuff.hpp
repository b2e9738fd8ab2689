// tuff.hpp: tuff.h for C++17, header only. Objects own what they stand for and are moved, not
// copied; failures are exceptions of type tuff::Error. Everything else is as tuff.h says: threads,
// lifetimes, units.
//
//   tuff::Device device = tuff::Context().open();                 // the best GPU, else the CPU
//   tuff::Program program = device.compile("model.onnx");
//   tuff::Buffer x = device.buffer({1, 3}, std::vector<float>{1, 2, 3});
//   std::vector<float> y = program(x)[0].read<float>();
#ifndef TUFF_HPP
#define TUFF_HPP

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuff_types.hpp>
#include <utility>
#include <vector>

namespace tuff {

namespace detail {

// A function for tuff.h to call once, which then goes.
template <typename... Arguments>
struct Callback {
  using Function = std::function<void(Arguments...)>;
  static void call(void* user, Arguments... arguments) {
    std::unique_ptr<Function> function(static_cast<Function*>(user));
    if (*function) (*function)(arguments...);
  }
};

template <typename T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* object) const { destroy(object); }
};
template <typename T, void (*destroy)(T*)>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

}  // namespace detail

// A tensor in a device's memory.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(tuff_buffer* handle) : handle_(handle) {}  // takes it over

  TensorType type() const {
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    check(tuff_buffer_type(get(), &type));
    return {static_cast<DType>(type.dtype), Shape(type.shape, type.shape + type.rank)};
  }
  size_t size_bytes() const { return tuff_buffer_size(get()); }

  // The elements, row-major. T is the element's type, or an integer of its size for its bits.
  template <typename T>
  std::vector<T> read() const {
    static_assert(!std::is_same_v<T, bool>, "read booleans as uint8_t");
    check_elements<T>();
    std::vector<T> values(size_bytes() / sizeof(T));
    read(values.data(), values.size() * sizeof(T));
    return values;
  }
  void read(void* data, size_t size) const { check(tuff_buffer_read(get(), data, size)); }
  void write(const void* data, size_t size) { check(tuff_buffer_write(get(), data, size)); }
  template <typename T>
  void write(const std::vector<T>& values) {
    check_elements<T>();
    write(values.data(), values.size() * sizeof(T));
  }
  // Null where the device's memory is not the host's.
  const void* host_data() const {
    const void* data = nullptr;
    check(tuff_buffer_host_data(get(), &data));
    return data;
  }
  // Whoever takes it calls its deleter.
  DLManagedTensor* export_dlpack() const {
    DLManagedTensor* tensor = nullptr;
    check(tuff_buffer_export_dlpack(get(), &tensor));
    return tensor;
  }
  // Where it lies in Vulkan's memory.
  tuff_vulkan_buffer vulkan() const {
    tuff_vulkan_buffer place = TUFF_INIT(tuff_vulkan_buffer);
    check(tuff_buffer_vulkan(get(), &place));
    return place;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  tuff_buffer* get() const { return handle_.get(); }
  tuff_buffer* release() { return handle_.release(); }

 private:
  template <typename T>
  void check_elements() const {
    DType dtype = type().dtype;
    if (holds<T>(dtype)) return;
    std::string name = tuff_dtype_name(static_cast<tuff_dtype>(dtype));
    throw Error(TUFF_INVALID_ARGUMENT,
                "The buffer's elements (" + name + ") are not of the C++ type that is asked for.",
                "");
  }

  detail::Handle<tuff_buffer, tuff_buffer_destroy> handle_;
};

// The end of a run.
class Event {
 public:
  Event() = default;
  explicit Event(tuff_event* handle) : handle_(handle) {}

  void wait() { check(tuff_event_wait(get(), UINT64_MAX)); }
  // False if the run has not ended by then.
  bool wait_for(std::chrono::nanoseconds time) {
    auto ns = static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
    tuff_status status = tuff_event_wait(get(), ns);
    if (status == TUFF_TIMEOUT) return false;
    check(status);
    return true;
  }
  // `done` is called with the run's status when it ends, or now, and must not throw.
  void on_done(std::function<void(tuff_status)> done) {
    using Callback = detail::Callback<tuff_status>;
    auto kept = std::make_unique<Callback::Function>(std::move(done));
    check(tuff_event_on_done(get(), Callback::call, kept.get()));
    kept.release();
  }
  tuff_event* get() const { return handle_.get(); }

 private:
  detail::Handle<tuff_event, tuff_event_destroy> handle_;
};

// What a run is given besides its arguments; tuff_run_options says more.
struct RunOptions {
  std::vector<size_t> donated;
  std::vector<tuff_vulkan_semaphore> wait, signal;
  std::vector<tuff_buffer*> outputs;  // none, or one a result, null where a new buffer is made
};

// A model on a device.
class Program {
 public:
  Program() = default;
  explicit Program(tuff_program* handle) : handle_(handle) {}

  tuff_program_info info() const {
    tuff_program_info info = TUFF_INIT(tuff_program_info);
    check(tuff_program_get_info(get(), &info));
    return info;
  }
  ValueInfo argument(size_t index) const { return value(tuff_program_argument, index); }
  ValueInfo result(size_t index) const { return value(tuff_program_result, index); }
  StepInfo step(size_t index) const {
    tuff_step_info info = TUFF_INIT(tuff_step_info);
    check(tuff_program_step(get(), index, &info));
    return StepInfo(info);
  }
  // The number of an argument by its name. Throws where there is none.
  size_t argument_index(std::string_view name) const {
    for (size_t i = 0, count = info().num_arguments; i < count; ++i)
      if (argument(i).name == name) return i;
    throw Error(TUFF_INVALID_ARGUMENT, "The program has no argument (" + std::string(name) + ").",
                "");
  }
  void bind(size_t argument, const Buffer& buffer) {
    check(tuff_program_bind(get(), argument, buffer.get()));
  }

  // Into a file that Device::compile takes.
  void save(const std::string& path, bool without_weights = false) const {
    tuff_save_options options = TUFF_INIT(tuff_save_options);
    options.without_weights = without_weights;
    check(tuff_program_save(get(), path.c_str(), &options));
  }

  // Runs with buffers for the arguments that are not bound, in order.
  template <typename... Buffers>
  std::vector<Buffer> operator()(const Buffers&... arguments) {
    const Buffer* given[] = {&arguments..., nullptr};
    std::vector<tuff_buffer*> all = place(given, sizeof...(arguments));
    return run(all);
  }
  // With one entry per argument, null for what is bound; `donated` are used up.
  std::vector<Buffer> run(const std::vector<tuff_buffer*>& arguments,
                          const std::vector<size_t>& donated = {}) {
    return run(RunOptions{donated, {}, {}, {}}, arguments);
  }
  std::vector<Buffer> run(const RunOptions& given, const std::vector<tuff_buffer*>& arguments) {
    tuff_run_options options = run_options(given);
    std::vector<tuff_buffer*> results(num_results());
    check(tuff_program_run(get(), &options, arguments.data(), arguments.size(), results.data(),
                           results.size()));
    return own(results);
  }
  // Without waiting; `event` may be null.
  std::vector<Buffer> run_async(const std::vector<tuff_buffer*>& arguments,
                                const std::vector<size_t>& donated = {}, Event* event = nullptr) {
    return run_async(RunOptions{donated, {}, {}, {}}, arguments, event);
  }
  std::vector<Buffer> run_async(const RunOptions& given, const std::vector<tuff_buffer*>& arguments,
                                Event* event = nullptr) {
    tuff_run_options options = run_options(given);
    std::vector<tuff_buffer*> results(num_results());
    tuff_event* ended = nullptr;
    check(tuff_program_run_async(get(), &options, arguments.data(), arguments.size(),
                                 results.data(), results.size(), event ? &ended : nullptr));
    if (event) *event = Event(ended);
    return own(results);
  }

  tuff_program* get() const { return handle_.get(); }

 private:
  ValueInfo value(tuff_status (*ask)(const tuff_program*, size_t, tuff_value_info*),
                  size_t index) const {
    tuff_value_info info = TUFF_INIT(tuff_value_info);
    check(ask(get(), index, &info));
    return ValueInfo(info);
  }
  size_t num_results() const { return info().num_results; }
  tuff_run_options run_options(const RunOptions& given) const {
    if (!given.outputs.empty() && given.outputs.size() != num_results())
      throw Error(TUFF_INVALID_ARGUMENT, "The outputs are not as many as the results.", "");
    tuff_run_options options = TUFF_INIT(tuff_run_options);
    options.donated = given.donated.data(), options.num_donated = given.donated.size();
    options.wait = given.wait.data(), options.num_wait = given.wait.size();
    options.signal = given.signal.data(), options.num_signal = given.signal.size();
    if (!given.outputs.empty()) options.outputs = given.outputs.data();
    return options;
  }
  std::vector<tuff_buffer*> place(const Buffer* const* given, size_t count) const {
    size_t used = 0, total = info().num_arguments;
    std::vector<tuff_buffer*> all(total);
    for (size_t i = 0; i < total; ++i)
      if (used < count && !argument(i).is_bound) all[i] = given[used++]->get();
    if (used < count)
      throw Error(TUFF_INVALID_ARGUMENT, "The program takes fewer buffers than are given.", "");
    return all;
  }
  static std::vector<Buffer> own(const std::vector<tuff_buffer*>& handles) {
    std::vector<Buffer> buffers;
    buffers.reserve(handles.size());
    for (tuff_buffer* handle : handles) buffers.emplace_back(handle);
    return buffers;
  }

  detail::Handle<tuff_program, tuff_program_destroy> handle_;
};

// The value of an argument that shapes follow from.
struct ArgumentValue {
  std::string name;
  TensorType type;
  const void* data = nullptr;
};

struct CompileOptions {
  std::string name = "model";                         // of bytes, in messages
  std::vector<std::pair<std::string, Shape>> shapes;  // for sizes that the model leaves open
  std::string weights_path;                           // a .safetensors file
  bool require_gpu = false;
  // Phase, done, total (0: not known); false ends the compilation.
  std::function<bool(const char*, int64_t, int64_t)> progress;
  std::vector<ArgumentValue> values;
};

class Device {
 public:
  Device() = default;
  explicit Device(tuff_device* handle) : handle_(handle) {}

  DeviceInfo info() const {
    tuff_device_info info = TUFF_INIT(tuff_device_info);
    check(tuff_device_get_info(get(), &info));
    return DeviceInfo(info);
  }

  // A copy of `data`; zeros where it is null.
  Buffer buffer(const TensorType& type, const void* data) const {
    tuff_tensor_type view = type.view();
    tuff_buffer* handle = nullptr;
    check(tuff_buffer_create(get(), &view, data, &handle));
    return Buffer(handle);
  }
  template <typename T>
  Buffer buffer(Shape shape, const std::vector<T>& values) const {
    TensorType type{dtype_of<T>(), std::move(shape)};
    if (type.num_elements() != static_cast<int64_t>(values.size()))
      throw Error(TUFF_INVALID_ARGUMENT, "The values are not as many as the shape says.", "");
    return buffer(type, values.data());
  }

  // The caller's memory, without a copy where the device reads it; `release` is called when the
  // last use has ended, and must not throw.
  Buffer import_host(const TensorType& type, const void* data,
                     std::function<void()> release) const {
    return with_release(std::move(release), [&](void* user, tuff_buffer** handle) {
      tuff_tensor_type view = type.view();
      return tuff_buffer_import_host(get(), &view, data, detail::Callback<>::call, user, handle);
    });
  }
  // Takes the tensor over.
  Buffer import_dlpack(DLManagedTensor* tensor) const {
    tuff_buffer* handle = nullptr;
    check(tuff_buffer_import_dlpack(get(), tensor, &handle));
    return Buffer(handle);
  }
  // A part of a VkBuffer, of a device that Context::adopt gave; `release` as above.
  Buffer wrap(const TensorType& type, uint64_t vk_buffer, uint64_t offset = 0,
              std::function<void()> release = nullptr) const {
    return with_release(std::move(release), [&](void* user, tuff_buffer** handle) {
      tuff_tensor_type view = type.view();
      tuff_vulkan_buffer place = TUFF_INIT(tuff_vulkan_buffer);
      place.buffer = vk_buffer, place.offset = offset;
      return tuff_buffer_wrap_vulkan(get(), &view, &place, detail::Callback<>::call, user, handle);
    });
  }

  // A file of any format that tuff reads, of Program::save, or a bundle's directory.
  Program compile(const std::string& path, const CompileOptions& options = {}) const {
    tuff_compile_options known = TUFF_INIT(tuff_compile_options);
    known.path = path.c_str();
    return compile(known, options);
  }
  // The bytes of such a file.
  Program compile_bytes(std::string_view bytes, const CompileOptions& options = {}) const {
    tuff_compile_options known = TUFF_INIT(tuff_compile_options);
    known.bytes = bytes.data(), known.num_bytes = bytes.size();
    return compile(known, options);
  }

  tuff_device* get() const { return handle_.get(); }

 private:
  template <typename Make>
  static Buffer with_release(std::function<void()> release, Make&& make) {
    auto kept = std::make_unique<std::function<void()>>(std::move(release));
    tuff_buffer* handle = nullptr;
    check(make(kept.get(), &handle));
    kept.release();
    return Buffer(handle);
  }
  Program compile(tuff_compile_options& known, const CompileOptions& options) const {
    std::vector<tuff_argument_shape> shapes;
    for (const auto& [name, shape] : options.shapes)
      shapes.push_back({name.c_str(), static_cast<uint32_t>(shape.size()), shape.data()});
    known.name = options.name.c_str();
    known.shapes = shapes.data(), known.num_shapes = shapes.size();
    std::vector<tuff_argument_value> values;
    for (const auto& [name, type, data] : options.values)
      values.push_back({name.c_str(), static_cast<tuff_dtype>(type.dtype),
                        static_cast<uint32_t>(type.shape.size()), type.shape.data(), data});
    known.values = values.data(), known.num_values = values.size();
    if (!options.weights_path.empty()) known.weights_path = options.weights_path.c_str();
    known.require_gpu = options.require_gpu;
    if (options.progress) {
      known.progress_user = const_cast<CompileOptions*>(&options);
      known.progress = [](void* user, const char* phase, int64_t done, int64_t total) -> int32_t {
        return static_cast<const CompileOptions*>(user)->progress(phase, done, total) ? 0 : 1;
      };
    }
    tuff_program* handle = nullptr;
    check(tuff_program_compile(get(), &known, &handle));
    return Program(handle);
  }

  detail::Handle<tuff_device, tuff_device_destroy> handle_;
};

// Memory for tensors, constants and temporaries on the CPU. From any thread; must not throw.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual void* allocate(size_t size, size_t alignment) = 0;  // null where there is none
  virtual void free(void* memory, size_t size) = 0;
};

using Log = std::function<void(int32_t level, const char* text)>;

// What these point at outlives all devices, programs and buffers of the context.
struct ContextOptions {
  std::shared_ptr<Log> log;  // may be empty; from any thread
  std::shared_ptr<Allocator> allocator;
  // Where compiled kernels are kept: nothing is what the environment says, "" nowhere.
  std::optional<std::string> cache_directory;
  int64_t cache_max_bytes = 0;  // 0: 1 GiB
};

struct CacheInfo {
  std::string directory;
  int64_t num_entries = 0, bytes = 0, max_bytes = 0;
};

// Where devices come from, and where messages go.
class Context {
 public:
  using Log = tuff::Log;

  explicit Context(std::shared_ptr<Log> log = nullptr) : Context(with_log(std::move(log))) {}
  explicit Context(ContextOptions given) : given_(std::move(given)) {
    tuff_context_options options = TUFF_INIT(tuff_context_options);
    if (given_.log) {
      options.log_user = given_.log.get();
      options.log = [](void* user, int32_t level, const char* text) {
        (*static_cast<Log*>(user))(level, text);
      };
    }
    if (given_.allocator) {
      options.allocator_user = given_.allocator.get();
      options.allocate = [](void* user, size_t size, size_t alignment) {
        return static_cast<Allocator*>(user)->allocate(size, alignment);
      };
      options.free = [](void* user, void* memory, size_t size) {
        static_cast<Allocator*>(user)->free(memory, size);
      };
    }
    if (given_.cache_directory) options.cache_directory = given_.cache_directory->c_str();
    options.cache_max_bytes = given_.cache_max_bytes;
    tuff_context* handle = nullptr;
    check(tuff_context_create(&options, &handle));
    handle_.reset(handle);
  }

  std::vector<DeviceInfo> devices() const {
    size_t count = 0;
    check(tuff_context_count_devices(handle_.get(), &count));
    std::vector<DeviceInfo> devices;
    for (size_t i = 0; i < count; ++i) {
      tuff_device_info info = TUFF_INIT(tuff_device_info);
      check(tuff_context_device_info(handle_.get(), i, &info));
      devices.emplace_back(info);
    }
    return devices;
  }
  // "auto", "vulkan", "vulkan:1", "cpu".
  Device open(const std::string& id = "auto") const {
    tuff_device* handle = nullptr;
    check(tuff_device_open(handle_.get(), id.c_str(), &handle));
    return Device(handle);
  }
  // On the application's own Vulkan device.
  Device adopt(const tuff_vulkan_device& given) const {
    tuff_device* handle = nullptr;
    check(tuff_device_adopt_vulkan(handle_.get(), &given, &handle));
    return Device(handle);
  }

  CacheInfo cache() const {
    tuff_cache_info info = TUFF_INIT(tuff_cache_info);
    check(tuff_cache_get_info(handle_.get(), &info));
    return {info.directory, info.num_entries, info.bytes, info.max_bytes};
  }
  void clear_cache() const { check(tuff_cache_clear(handle_.get())); }
  tuff_context* get() const { return handle_.get(); }

 private:
  static ContextOptions with_log(std::shared_ptr<Log> log) {
    ContextOptions options;
    options.log = std::move(log);
    return options;
  }

  ContextOptions given_;
  detail::Handle<tuff_context, tuff_context_destroy> handle_;
};

}  // namespace tuff

#endif  // TUFF_HPP
