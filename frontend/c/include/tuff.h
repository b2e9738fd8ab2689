/* tuff: a tensor compiler and runtime that runs models on any Vulkan GPU, and on the CPU. C
 * interface.
 *
 * A model's bytes are compiled for a device into a program; a program runs on buffers. See
 * frontend/c/README.md for a guide, tuff.hpp for C++, and the examples beside them.
 *
 * Errors. Functions that can fail return a tuff_status; what they would have made is then left
 * untouched. tuff_last_error tells more. Nothing here throws, exits or prints; only
 * a broken invariant of tuff's own, a bug, ends the process.
 *
 * Ownership. Every function that gives an object by its last argument, or results of a run, gives
 * it to the caller, who ends it with the destroy function of its kind, which takes NULL, too. An
 * object keeps what it was made from, so the order does not matter: a buffer outlives the handle of
 * its device. Strings and arrays that a function gives belong to the object they were asked of and
 * live as long as that.
 *
 * Threads. Every function may be called from any thread, also at the same time, on the same
 * objects; only an object that is being destroyed, bound, donated or written may not be in use
 * elsewhere. Runs of one program wait for each other; those of several programs run side by side.
 * Callbacks are called on a thread of tuff's or of the caller's, as each says, and must not throw.
 *
 * Structs begin with struct_size, which the caller sets (TUFF_INIT does): newer libraries read and
 * fill what the caller's version has and take zero for the rest.
 */
#ifndef TUFF_H
#define TUFF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define TUFF_API
#else
#define TUFF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header. A library of the same major version can do all that this header says. */
#define TUFF_VERSION_MAJOR 0
#define TUFF_VERSION_MINOR 1
#define TUFF_VERSION_PATCH 0

/* Version of the library: major * 10000 + minor * 100 + patch, and as text ("0.1.0"). */
TUFF_API uint32_t tuff_version(void);
TUFF_API const char* tuff_version_string(void);

/* A struct of this interface, all zero but its size:
 *   tuff_compile_options options = TUFF_INIT(tuff_compile_options); */
#define TUFF_INIT(type) type##_init()
#define TUFF_DEFINE_INIT(type)           \
  static inline type type##_init(void) { \
    type value;                          \
    memset(&value, 0, sizeof value);     \
    value.struct_size = sizeof value;    \
    return value;                        \
  }

/* ---- Errors ---- */

typedef int32_t tuff_status;
enum {
  TUFF_OK = 0,
  TUFF_RUN_FAILED = 1,       /* a driver or the system failed */
  TUFF_INVALID_ARGUMENT = 2, /* the call is wrong: a mistake of the caller's */
  TUFF_NO_DEVICE = 3,        /* no such device, or one that cannot be used */
  TUFF_FALLBACK_REFUSED = 5, /* work would run on the CPU, which require_gpu refuses */
  TUFF_TIMEOUT = 6,          /* tuff_event_wait: not done yet */
  TUFF_OUT_OF_MEMORY = 8,    /* of the host or the device; the message says how much of what */
  TUFF_DEVICE_LOST = 9,      /* the device is to be opened again; its buffers are lost */
  TUFF_BAD_INPUT = 10,       /* the model or a file is not what it should be */
  TUFF_UNSUPPORTED = 11,     /* well formed, but beyond tuff; the message says what, and where */
  TUFF_CANCELLED = 130       /* a progress callback asked for it */
};

/* "out of memory" and so on; never NULL. */
TUFF_API const char* tuff_status_name(tuff_status status);
/* What the last function of this thread that failed has to say: a sentence with the values that
 * matter. Empty if none has failed. Lives until the next failure on this thread. */
TUFF_API const char* tuff_last_error(void);
/* Where in the model or in which argument that was, "model.mlir:31:8"; may be empty. */
TUFF_API const char* tuff_last_error_location(void);

/* ---- Types ---- */

typedef int32_t tuff_dtype;
enum {
  TUFF_BOOL = 0, /* one byte, 0 or 1 */
  TUFF_I8 = 1,
  TUFF_I16 = 2,
  TUFF_I32 = 3,
  TUFF_I64 = 4,
  TUFF_U8 = 5,
  TUFF_U16 = 6,
  TUFF_U32 = 7,
  TUFF_U64 = 8,
  TUFF_F16 = 9,
  TUFF_BF16 = 10,
  TUFF_F32 = 11,
  TUFF_F64 = 12,
  /* Complex: pairs of f32 or f64, the real part first. */
  TUFF_C64 = 13,
  TUFF_C128 = 14,
  /* Small types, each element in a byte. Floats of 8 and 4 bits, by StableHLO's names: */
  TUFF_F8E4M3FN = 15,
  TUFF_F8E4M3FNUZ = 16,
  TUFF_F8E5M2 = 17,
  TUFF_F8E5M2FNUZ = 18,
  TUFF_F8E8M0FNU = 19,
  TUFF_F4E2M1FN = 20,
  TUFF_F8E4M3 = 21,
  TUFF_F8E3M4 = 22,
  TUFF_F8E4M3B11FNUZ = 23,
  /* Integers of 4 and 2 bits: the byte has the value, or its low bits do. */
  TUFF_I4 = 24,
  TUFF_I2 = 25,
  TUFF_U4 = 26,
  TUFF_U2 = 27
};

/* Bytes of one element on the host; 0 for what is no dtype. */
TUFF_API size_t tuff_dtype_size(tuff_dtype dtype);
/* As StableHLO spells it: "f32", "i1", "complex<f32>"; NULL for what is no dtype. */
TUFF_API const char* tuff_dtype_name(tuff_dtype dtype);

/* A dense tensor, its elements in row-major order. */
typedef struct tuff_tensor_type {
  size_t struct_size;
  tuff_dtype dtype;
  uint32_t rank;        /* at most 64 */
  const int64_t* shape; /* rank sizes, each at least 0; may be NULL where rank is 0 */
} tuff_tensor_type;
TUFF_DEFINE_INIT(tuff_tensor_type)

/* ---- Contexts ---- */

/* What an application shares between devices: where messages go. There may be many. */
typedef struct tuff_context tuff_context;

enum { TUFF_LOG_WARNING = 1, TUFF_LOG_INFO = 2 };
/* `text` is a line without its end and lives during the call. From any thread. */
typedef void (*tuff_log_callback)(void* user, int32_t level, const char* text);

/* Memory for tensors, constants and temporaries on the CPU: NULL where there is none. `alignment`
 * is a power of 2. From any thread. */
typedef void* (*tuff_allocate_callback)(void* user, size_t size, size_t alignment);
typedef void (*tuff_free_callback)(void* user, void* memory, size_t size);

typedef struct tuff_context_options {
  size_t struct_size;
  tuff_log_callback log; /* NULL: nobody is told */
  void* log_user;
  /* Where compiled kernels are kept on disk: NULL is what the environment says (TUFF_CACHE_DIR,
   * else ~/.cache/tuff), "" nowhere. */
  const char* cache_directory;
  int64_t cache_max_bytes; /* 0: 1 GiB */
  /* Both or neither. What is not of tensors, such as graphs and code, is the C++ library's. */
  tuff_allocate_callback allocate;
  tuff_free_callback free;
  void* allocator_user;
} tuff_context_options;
TUFF_DEFINE_INIT(tuff_context_options)

/* `options` may be NULL. */
TUFF_API tuff_status tuff_context_create(const tuff_context_options* options,
                                         tuff_context** context);
TUFF_API void tuff_context_destroy(tuff_context* context);

/* ---- Devices ---- */

typedef struct tuff_device tuff_device;

enum {
  TUFF_DEVICE_CPU = 0,
  TUFF_DEVICE_DISCRETE = 1,
  TUFF_DEVICE_INTEGRATED = 2,
  TUFF_DEVICE_VIRTUAL = 3,
  TUFF_DEVICE_SOFTWARE = 4, /* a Vulkan driver that computes on the CPU */
  TUFF_DEVICE_OTHER = 5
};

typedef struct tuff_device_info {
  size_t struct_size;
  int32_t kind;            /* TUFF_DEVICE_* */
  int32_t usable;          /* 0: why_not says why */
  const char* id;          /* what tuff_device_open takes: "vulkan:0", "cpu" */
  const char* name;        /* "NVIDIA GeForce RTX 4090" */
  const char* driver;      /* name and version; empty for the CPU */
  const char* api_version; /* of Vulkan: "1.3.305"; empty for the CPU */
  const char* why_not;     /* a sentence; empty if usable */
  uint32_t vendor_id;      /* PCI; 0 where there is none */
  uint32_t device_id;      /* PCI */
  uint8_t uuid[16];        /* Vulkan's deviceUUID; zeros for the CPU */
  int64_t memory_bytes;    /* of the largest device-local heap, or the machine's; -1: unknown */
  int64_t memory_available_bytes; /* what is left of it; -1: unknown */
  /* Limits; of devices that are not usable 0. */
  int64_t max_buffer_bytes; /* of one tensor */
  int64_t max_shared_bytes; /* of a workgroup */
  int32_t subgroup_size;
  int32_t has_i64, has_f64; /* not 0: kernels compute in them; else the CPU does */
  const char* pci_address;  /* "0000:01:00.0", where it sits; empty where that is not told */
} tuff_device_info;
TUFF_DEFINE_INIT(tuff_device_info)

/* The devices of this machine: Vulkan's in the driver's order, then the CPU. Opens none. */
TUFF_API tuff_status tuff_context_count_devices(tuff_context* context, size_t* count);
/* Its strings live as long as the context. */
TUFF_API tuff_status tuff_context_device_info(tuff_context* context, size_t index,
                                              tuff_device_info* info);

/* Opens a device: "auto" (the best hardware Vulkan device, else the CPU), "vulkan" (the best, also
 * a software one), "vulkan:1" or "cpu". NULL is "auto". A Vulkan device that is new to this
 * machine's user is tested first, within two seconds. */
TUFF_API tuff_status tuff_device_open(tuff_context* context, const char* id, tuff_device** device);
TUFF_API void tuff_device_destroy(tuff_device* device);
TUFF_API tuff_status tuff_device_get_info(tuff_device* device, tuff_device_info* info);

/* ---- Buffers ---- */

/* A tensor in a device's memory. */
typedef struct tuff_buffer tuff_buffer;

/* A buffer of the type with a copy of `data`, row-major, or with zeros where it is NULL. */
TUFF_API tuff_status tuff_buffer_create(tuff_device* device, const tuff_tensor_type* type,
                                        const void* data, tuff_buffer** buffer);
/* The caller's memory as a buffer that programs read. Without a copy where the device reads the
 * host's memory and `data` is aligned to 16 bytes; then nothing may change it until `release` is
 * called, on any thread, when the last use has ended. Elsewhere it is copied, and `release` is
 * called before the function returns. `release` may be NULL; it is not called on failure. */
TUFF_API tuff_status tuff_buffer_import_host(tuff_device* device, const tuff_tensor_type* type,
                                             const void* data, void (*release)(void* user),
                                             void* user, tuff_buffer** buffer);
TUFF_API void tuff_buffer_destroy(tuff_buffer* buffer);

/* Its type, which lives as long as the buffer. */
TUFF_API tuff_status tuff_buffer_type(const tuff_buffer* buffer, tuff_tensor_type* type);
/* Bytes of the tensor on the host: what read and write copy. */
TUFF_API size_t tuff_buffer_size(const tuff_buffer* buffer);
/* Copies to and from the host, all of the tensor: `size` must be tuff_buffer_size. Waits for the
 * run that computes the buffer, and to write for the runs that read it. A buffer that a program is
 * bound to, or that was imported without a copy, is not written: TUFF_INVALID_ARGUMENT. */
TUFF_API tuff_status tuff_buffer_write(tuff_buffer* buffer, const void* data, size_t size);
TUFF_API tuff_status tuff_buffer_read(const tuff_buffer* buffer, void* data, size_t size);
/* Where the tensor lies, if the device's memory is the host's; else `data` becomes NULL. Waits for
 * the run that computes it. Valid until the buffer is destroyed, written or donated. */
TUFF_API tuff_status tuff_buffer_host_data(const tuff_buffer* buffer, const void** data);

/* DLPack, versions 0.x (struct DLManagedTensor of dlpack.h). Import takes the tensor over and calls
 * its deleter when the last use has ended; strides other than row-major are copied. Only tensors in
 * the host's memory: TUFF_UNSUPPORTED else. Export copies where the device's memory is not the
 * host's, and waits. What is not copied is shared: before one side writes to it, the caller waits
 * for the runs in which others, another tuff_device among them, read it. */
struct DLManagedTensor;
TUFF_API tuff_status tuff_buffer_import_dlpack(tuff_device* device, struct DLManagedTensor* tensor,
                                               tuff_buffer** buffer);
TUFF_API tuff_status tuff_buffer_export_dlpack(const tuff_buffer* buffer,
                                               struct DLManagedTensor** tensor);

/* ---- Vulkan devices and buffers of the application's own ---- */

/* A VkDevice that the application made, on which tuff runs beside it. Handles are Vulkan's and stay
 * the application's, which destroys them after the last tuff object on them. Its instance is of
 * Vulkan 1.1 or newer. Features that the device was made without are not used: shaderInt64,
 * storageBuffer8BitAccess and storageBuffer16BitAccess, shaderFloat16 and shaderInt8,
 * bufferDeviceAddress, subgroupSizeControl with computeFullSubgroups are worth having. */
struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;
struct VkDeviceCreateInfo;
typedef struct tuff_vulkan_device {
  size_t struct_size;
  struct VkInstance_T* instance;
  struct VkPhysicalDevice_T* physical_device;
  struct VkDevice_T* device;
  struct VkQueue_T* queue; /* of a family that computes */
  uint32_t queue_family;
  uint32_t api_version; /* of the application's VkApplicationInfo */
  /* What the device was made with: tells its features. Read during the call only. */
  const struct VkDeviceCreateInfo* create_info;
  /* vkGetInstanceProcAddr; NULL: the loader's. */
  void (*(*get_instance_proc_addr)(struct VkInstance_T* instance, const char* name))(void);
  /* Called around each use of the queue, from any thread. Without them the application does not use
   * the queue while tuff may: during its functions, and until events are done. */
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* queue_user;
} tuff_vulkan_device;
TUFF_DEFINE_INIT(tuff_vulkan_device)
TUFF_API tuff_status tuff_device_adopt_vulkan(tuff_context* context,
                                              const tuff_vulkan_device* given,
                                              tuff_device** device);

/* A part of a VkBuffer. */
typedef struct tuff_vulkan_buffer {
  size_t struct_size;
  uint64_t buffer; /* the VkBuffer: (uint64_t)buffer */
  uint64_t offset; /* in bytes */
} tuff_vulkan_buffer;
TUFF_DEFINE_INIT(tuff_vulkan_buffer)
/* A VkBuffer of a device that tuff_device_adopt_vulkan has made, as a buffer that programs read and
 * write. It was made for use as a storage buffer and as source and target of copies, on the queue's
 * family; above maxStorageBufferRange by device address, too. From `offset` on, a multiple of
 * minStorageBufferOffsetAlignment, it has the tensor's bytes, rounded up to 4. Its contents are the
 * tensor's row-major elements (TUFF_UNSUPPORTED where the device keeps such a type otherwise).
 * One place is in a run once: two buffers that share memory are not ordered against each other.
 * `release`, which may be NULL, is called when the last use has ended; not on failure. */
TUFF_API tuff_status tuff_buffer_wrap_vulkan(tuff_device* device, const tuff_tensor_type* type,
                                             const tuff_vulkan_buffer* vulkan,
                                             void (*release)(void* user), void* user,
                                             tuff_buffer** buffer);
/* Where a buffer lies, one that a run gave for instance: valid until it is destroyed or donated.
 * Waits for the run that computes it. The handle is 0 where the buffer is not in Vulkan's memory.
 */
TUFF_API tuff_status tuff_buffer_vulkan(const tuff_buffer* buffer, tuff_vulkan_buffer* vulkan);

/* ---- Programs ---- */

/* A model, compiled and loaded on a device. */
typedef struct tuff_program tuff_program;

/* A shape for an argument whose sizes the model leaves open. */
typedef struct tuff_argument_shape {
  const char* name; /* the argument's, or its number as "0" */
  uint32_t rank;
  const int64_t* shape;
} tuff_argument_shape;

/* A value for an argument from which a shape follows: the second input of ONNX's Reshape, say. The
 * program then holds for this value only and has it bound. Other arguments get theirs in runs. */
typedef struct tuff_argument_value {
  const char* name; /* as above */
  tuff_dtype dtype;
  uint32_t rank;
  const int64_t* shape;
  const void* data; /* row-major; read during the call only */
} tuff_argument_value;

/* A phase has done so much of it; total is 0 where it is not known. Any value but 0 ends the
 * compilation with TUFF_CANCELLED. On the thread that compiles, or one of tuff's. */
typedef int32_t (*tuff_progress_callback)(void* user, const char* phase, int64_t done,
                                          int64_t total);

typedef struct tuff_compile_options {
  size_t struct_size;
  /* Either a path (a file of any format that `tuff run` takes, or a bundle's directory) ... */
  const char* path;
  /* ... or bytes of such a file, read during the call only, and what messages call them. */
  const void* bytes;
  size_t num_bytes;
  const char* name;
  /* Sizes that the model leaves open. */
  const tuff_argument_shape* shapes;
  size_t num_shapes;
  /* Weights by name, instead of the bundle's own: a .safetensors file. May be NULL. */
  const char* weights_path;
  /* Not 0: what has no kernel for the GPU is TUFF_FALLBACK_REFUSED. */
  int32_t require_gpu;
  tuff_progress_callback progress;
  void* progress_user;
  const tuff_argument_value* values;
  size_t num_values;
} tuff_compile_options;
TUFF_DEFINE_INIT(tuff_compile_options)

TUFF_API tuff_status tuff_program_compile(tuff_device* device, const tuff_compile_options* options,
                                          tuff_program** program);
TUFF_API void tuff_program_destroy(tuff_program* program);

typedef struct tuff_program_info {
  size_t struct_size;
  size_t num_arguments, num_results;
  size_t num_operations;       /* of the model, before fusion */
  size_t num_steps;            /* kernels dispatched and library calls, loops counted once */
  size_t num_kernels;          /* distinct ones */
  size_t num_kernels_compiled; /* of those: not taken from memory or disk */
  size_t num_host_steps;       /* what a GPU leaves to the CPU */
  int64_t argument_bytes;      /* device memory by purpose */
  int64_t result_bytes;
  int64_t constant_bytes;
  int64_t arena_bytes; /* of temporaries */
} tuff_program_info;
TUFF_DEFINE_INIT(tuff_program_info)
TUFF_API tuff_status tuff_program_get_info(const tuff_program* program, tuff_program_info* info);

typedef struct tuff_value_info {
  size_t struct_size;
  const char* name; /* as the model has it */
  tuff_dtype dtype;
  uint32_t rank;
  const int64_t* shape;
  int32_t is_bound; /* an argument: it has a value, and runs may leave it out */
  /* A result whose length the data says (ONNX's NonZero, say): it is as long as it can be, and of
   * its dimension count_dimension only so many elements count as the result number count_result,
   * one I64, has. For all others count_result is 0. */
  uint32_t count_dimension;
  size_t count_result;
} tuff_value_info;
TUFF_DEFINE_INIT(tuff_value_info)
TUFF_API tuff_status tuff_program_argument(const tuff_program* program, size_t index,
                                           tuff_value_info* info);
TUFF_API tuff_status tuff_program_result(const tuff_program* program, size_t index,
                                         tuff_value_info* info);

typedef struct tuff_step_info {
  size_t struct_size;
  const char* label;      /* its family, and where in the model: "matmul (model.py:12)" */
  const char* operations; /* what was fused into it: "dot_general add" */
  const char* kernel;     /* its kernel's text; empty for library calls and copies */
  int32_t on_host;        /* not 0: a GPU leaves it to the CPU */
  int64_t workgroups;     /* of a kernel */
  double flops;           /* at least, as the profile counts */
  int64_t read_bytes, written_bytes;
} tuff_step_info;
TUFF_DEFINE_INIT(tuff_step_info)
/* Step `index` of num_steps, in the order of the program. */
TUFF_API tuff_status tuff_program_step(const tuff_program* program, size_t index,
                                       tuff_step_info* info);

/* Gives an argument a value that runs then need not: a weight. The program keeps the buffer, which
 * is not written from now on. NULL takes the value away. Weights that a model brings along are
 * bound when it is compiled, as is what shapes follow from, which stays. */
TUFF_API tuff_status tuff_program_bind(tuff_program* program, size_t argument, tuff_buffer* buffer);

typedef struct tuff_save_options {
  size_t struct_size;
  /* Not 0: values of bound arguments are left out, but those that shapes follow from; whoever loads
   * the program binds them. */
  int32_t without_weights;
} tuff_save_options;
TUFF_DEFINE_INIT(tuff_save_options)
/* Writes the program, what is bound to it and its compiled kernels to a file, which is replaced as
 * a whole or not at all. tuff_program_compile takes the file as it takes any model. On such a
 * device it then compiles no kernel; on another one it compiles those that the file has not, which
 * the log and num_kernels_compiled tell. A damaged file, and one of another format of tuff's, is
 * TUFF_BAD_INPUT. Kernels are code: load files that you trust. `options` may be NULL. */
TUFF_API tuff_status tuff_program_save(const tuff_program* program, const char* path,
                                       const tuff_save_options* options);

/* ---- Runs ---- */

/* A VkSemaphore, and the value to wait for or to signal if it is a timeline. */
typedef struct tuff_vulkan_semaphore {
  uint64_t semaphore, value;
} tuff_vulkan_semaphore;

typedef struct tuff_run_options {
  size_t struct_size;
  /* Arguments, by number, whose buffers the caller gives up: results may take their memory, and the
   * buffers are empty afterwards (reads and runs with them are TUFF_INVALID_ARGUMENT). */
  const size_t* donated;
  size_t num_donated;
  /* Of a Vulkan device: the run begins once these are signalled ... */
  const tuff_vulkan_semaphore* wait;
  size_t num_wait;
  /* ... and signals those at its end, also where it fails. */
  const tuff_vulkan_semaphore* signal;
  size_t num_signal;
  /* NULL, or for each result NULL or a buffer of its type that the result is written to, no
   * argument of the run; its place among `results` becomes NULL. Where the run fails the buffer
   * holds nothing, and reads of it tell why. */
  tuff_buffer* const* outputs;
} tuff_run_options;
TUFF_DEFINE_INIT(tuff_run_options)

/* Runs the program to its end. `arguments`: one buffer for each argument, of its type, on the
 * program's device; NULL takes what is bound. `results`: one place for each result; a new buffer is
 * put into each. `options` may be NULL. */
TUFF_API tuff_status tuff_program_run(tuff_program* program, const tuff_run_options* options,
                                      tuff_buffer* const* arguments, size_t num_arguments,
                                      tuff_buffer** results, size_t num_results);

/* The end of a run. */
typedef struct tuff_event tuff_event;

/* The same, without waiting: results may be given to further runs at once, which follow on it.
 * Runs of one device happen in the order in which they were asked for. An error of the run comes
 * from the event, and from all that waits for its results. A process that ends waits for them, ten
 * seconds at most. `event` may be NULL. */
TUFF_API tuff_status tuff_program_run_async(tuff_program* program, const tuff_run_options* options,
                                            tuff_buffer* const* arguments, size_t num_arguments,
                                            tuff_buffer** results, size_t num_results,
                                            tuff_event** event);

/* Waits at most so many nanoseconds (UINT64_MAX: for ever): the run's status, or TUFF_TIMEOUT. */
TUFF_API tuff_status tuff_event_wait(tuff_event* event, uint64_t timeout_ns);
/* Calls back with the run's status when it ends, on a thread of tuff's, or now if it has. Later
 * runs of the device begin once it returns: it may ask for them, not wait for them. */
TUFF_API tuff_status tuff_event_on_done(tuff_event* event,
                                        void (*callback)(void* user, tuff_status status),
                                        void* user);
TUFF_API void tuff_event_destroy(tuff_event* event);

/* ---- The cache of compiled kernels ---- */

typedef struct tuff_cache_info {
  size_t struct_size;
  const char* directory; /* empty: the environment names none, nothing is kept on disk */
  int64_t num_entries, bytes, max_bytes;
} tuff_cache_info;
TUFF_DEFINE_INIT(tuff_cache_info)
/* `directory` lives as long as the context. */
TUFF_API tuff_status tuff_cache_get_info(tuff_context* context, tuff_cache_info* info);
TUFF_API tuff_status tuff_cache_clear(tuff_context* context);

#ifdef __cplusplus
}
#endif

#endif /* TUFF_H */
