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

#include <tuff.h>

#include <chrono>
#include <complex>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tuff {

// What a function of tuff.h failed with: what() is its sentence, with its place in the model.
class Error : public std::runtime_error {
 public:
  Error(tuff_status status, const std::string& message, std::string location)
      : std::runtime_error(location.empty() ? message : location + ": " + message),
        status_(status),
        location_(std::move(location)) {}

  tuff_status status() const { return status_; }
  const std::string& location() const { return location_; }

 private:
  tuff_status status_;
  std::string location_;
};

// Throws this thread's last error, unless all is well.
inline void check(tuff_status status) {
  if (status != TUFF_OK) throw Error(status, tuff_last_error(), tuff_last_error_location());
}

enum class DType : tuff_dtype {
  kBool = TUFF_BOOL,
  kI8 = TUFF_I8,
  kI16 = TUFF_I16,
  kI32 = TUFF_I32,
  kI64 = TUFF_I64,
  kU8 = TUFF_U8,
  kU16 = TUFF_U16,
  kU32 = TUFF_U32,
  kU64 = TUFF_U64,
  kF16 = TUFF_F16,
  kBF16 = TUFF_BF16,
  kF32 = TUFF_F32,
  kF64 = TUFF_F64,
  kC64 = TUFF_C64,
  kC128 = TUFF_C128
};

// The dtype of a C++ type. f16 and bf16 have none: name those, and give their bits as uint16_t.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, std::complex<float>>) return DType::kC64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return DType::kC128;
  static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>,
                "tensors have numbers");
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  constexpr tuff_dtype kFirst = std::is_signed_v<T> ? TUFF_I8 : TUFF_U8;
  constexpr tuff_dtype kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return static_cast<DType>(kFirst + kLog);
}

using Shape = std::vector<int64_t>;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t num_elements() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  size_t size_bytes() const {
    return static_cast<size_t>(num_elements()) * tuff_dtype_size(static_cast<tuff_dtype>(dtype));
  }
  bool operator==(const TensorType& other) const {
    return dtype == other.dtype && shape == other.shape;
  }
  bool operator!=(const TensorType& other) const { return !(*this == other); }
  // For tuff.h; a view on this.
  tuff_tensor_type view() const {
    tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
    type.dtype = static_cast<tuff_dtype>(dtype);
    type.rank = static_cast<uint32_t>(shape.size());
    type.shape = shape.data();
    return type;
  }
};

struct DeviceInfo {
  int32_t kind = TUFF_DEVICE_CPU;  // TUFF_DEVICE_*
  bool usable = false;
  std::string id, name, driver, api_version, why_not;
  uint32_t vendor_id = 0, device_id = 0;
  int64_t memory_bytes = -1, memory_available_bytes = -1;

  explicit DeviceInfo(const tuff_device_info& info)
      : kind(info.kind),
        usable(info.usable != 0),
        id(info.id),
        name(info.name),
        driver(info.driver),
        api_version(info.api_version),
        why_not(info.why_not),
        vendor_id(info.vendor_id),
        device_id(info.device_id),
        memory_bytes(info.memory_bytes),
        memory_available_bytes(info.memory_available_bytes) {}
};

struct ValueInfo {
  std::string name;
  TensorType type;
  bool is_bound = false;

  explicit ValueInfo(const tuff_value_info& info)
      : name(info.name),
        type{static_cast<DType>(info.dtype), Shape(info.shape, info.shape + info.rank)},
        is_bound(info.is_bound != 0) {}
};

namespace detail {

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

  // The elements, row-major. T must have the element's size.
  template <typename T>
  std::vector<T> read() const {
    static_assert(!std::is_same_v<T, bool>, "read booleans as uint8_t");
    std::vector<T> values(size_bytes() / sizeof(T));
    read(values.data(), values.size() * sizeof(T));
    return values;
  }
  void read(void* data, size_t size) const { check(tuff_buffer_read(get(), data, size)); }
  void write(const void* data, size_t size) { check(tuff_buffer_write(get(), data, size)); }
  template <typename T>
  void write(const std::vector<T>& values) {
    write(values.data(), values.size() * sizeof(T));
  }
  // Null where the device's memory is not the host's.
  const void* host_data() const {
    const void* data = nullptr;
    check(tuff_buffer_host_data(get(), &data));
    return data;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  tuff_buffer* get() const { return handle_.get(); }
  tuff_buffer* release() { return handle_.release(); }

 private:
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
    tuff_status status = tuff_event_wait(get(), static_cast<uint64_t>(time.count()));
    if (status == TUFF_TIMEOUT) return false;
    check(status);
    return true;
  }
  tuff_event* get() const { return handle_.get(); }

 private:
  detail::Handle<tuff_event, tuff_event_destroy> handle_;
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
    tuff_run_options options = run_options(donated);
    std::vector<tuff_buffer*> results(num_results());
    check(tuff_program_run(get(), &options, arguments.data(), arguments.size(), results.data(),
                           results.size()));
    return own(results);
  }
  // Without waiting; `event` may be null.
  std::vector<Buffer> run_async(const std::vector<tuff_buffer*>& arguments,
                                const std::vector<size_t>& donated = {}, Event* event = nullptr) {
    tuff_run_options options = run_options(donated);
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
  static tuff_run_options run_options(const std::vector<size_t>& donated) {
    tuff_run_options options = TUFF_INIT(tuff_run_options);
    options.donated = donated.data(), options.num_donated = donated.size();
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

struct CompileOptions {
  std::string name = "model";                         // of bytes, in messages
  std::vector<std::pair<std::string, Shape>> shapes;  // for sizes that the model leaves open
  std::string weights_path;                           // a .safetensors file
  bool require_gpu = false;
  // Phase, done, total (0: not known); false ends the compilation.
  std::function<bool(const char*, int64_t, int64_t)> progress;
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

  // A file of any format that tuff reads, or a bundle's directory.
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
  Program compile(tuff_compile_options& known, const CompileOptions& options) const {
    std::vector<tuff_argument_shape> shapes;
    for (const auto& [name, shape] : options.shapes)
      shapes.push_back({name.c_str(), static_cast<uint32_t>(shape.size()), shape.data()});
    known.name = options.name.c_str();
    known.shapes = shapes.data(), known.num_shapes = shapes.size();
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

// Where devices come from, and where messages go.
class Context {
 public:
  using Log = std::function<void(int32_t level, const char* text)>;

  // `log` is called from any thread and outlives all devices of the context; it may be empty.
  explicit Context(std::shared_ptr<Log> log = nullptr) : log_(std::move(log)) {
    tuff_context_options options = TUFF_INIT(tuff_context_options);
    if (log_) {
      options.log_user = log_.get();
      options.log = [](void* user, int32_t level, const char* text) {
        (*static_cast<Log*>(user))(level, text);
      };
    }
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
  tuff_context* get() const { return handle_.get(); }

 private:
  std::shared_ptr<Log> log_;
  detail::Handle<tuff_context, tuff_context_destroy> handle_;
};

}  // namespace tuff

#endif  // TUFF_HPP
