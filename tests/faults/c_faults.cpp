// Faults through the C interface, in one process: c_faults [--some=N|--all] [--part=K/N]
// [--frames=N] [--devices=cpu,vulkan] [--leaks] [KIND|KIND:CODE...]
//
// A small run opens a device, compiles, runs, saves, runs what it saved and ends, again and again,
// each time with another call that fails: about N of each kind, or every one, of which N processes
// take a part each. While GLSL is compiled, memory is asked for some 400,000 times: there every way
// to an allocation, its innermost 12 (--frames) calls, fails once: those of one compiling thread,
// and those that two add. One that does not come again fails where fewer of its calls are. The run
// gives the right results, or a status that its kind of fault has, and a message. Then the same
// context gives the right results, on the device that was open all the time. Built with
// AddressSanitizer, what is left at the end is a leak; --leaks looks after each fault.
#include <tuff.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/faults/inject.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
// What drivers and libraries keep for the process.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libvulkan\nleak:libLLVM\nleak:libgomp\nleak:libdnnl\n";
}
static bool leaks_now() { return __lsan_do_recoverable_leak_check() != 0; }
#else
static bool leaks_now() { return false; }
#endif

namespace {

constexpr const char* kModule = R"(module @m {
  func.func public @main(%x: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<5x3xf32>) {
    %w = stablehlo.constant dense<[[1.5, -2.0], [0.25, 3.0], [1.0, 1.0], [2.0, 0.5], [-1.0, 4.0]]> : tensor<5x2xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %t = stablehlo.tanh %d : tensor<3x2xf32>
    %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    %s = "stablehlo.sort"(%y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<5x3xf32>) -> tensor<5x3xf32>
    return %r, %s : tensor<3xf32>, tensor<5x3xf32>
  }
}
)";
constexpr size_t kResults = 2;
constexpr std::array<size_t, kResults> kSizes = {3, 15};
using Values = std::array<float, 18>;
// Runs that ways are collected from; in which one is to come up again; and with each frame less.
constexpr int kCounts = 4;
constexpr int kTries = 100, kTriesWithLess = 10;

struct Kind {
  const char *name, *code;
  std::vector<tuff_status> allowed;
};
// The statuses that a kind of fault may end in; TUFF_OK is the right result.
const std::vector<tuff_status> kMemory = {TUFF_OK, TUFF_OUT_OF_MEMORY};
const std::vector<tuff_status> kFiles = {TUFF_OK, TUFF_RUN_FAILED, TUFF_OUT_OF_MEMORY,
                                         TUFF_BAD_INPUT};
const std::vector<tuff_status> kVulkan = {TUFF_OK, TUFF_RUN_FAILED, TUFF_NO_DEVICE,
                                          TUFF_OUT_OF_MEMORY, TUFF_DEVICE_LOST};
const Kind kKinds[] = {
    {"memory", "", kMemory},   {"thread", "", {TUFF_OK, TUFF_RUN_FAILED}},
    {"file", "EIO", kFiles},   {"file", "ENOSPC", kFiles},
    {"file", "EINTR", kFiles}, {"file", "SHORT", kFiles},
    {"vulkan", "-1", kVulkan},  // host memory
    {"vulkan", "-2", kVulkan},  // device memory
    {"vulkan", "-3", kVulkan},  // it does not start
    {"vulkan", "-4", kVulkan},  // the device is lost
};

// The fault that is tried: told where it is wrong, and where it ends the process.
std::string trying;

void tell_where(const std::string& flaw) {
  std::printf("%s: %s\n", trying.c_str(), flaw.c_str());
  for (uint64_t frame : failed_at()) std::printf(" 0x%lx", static_cast<unsigned long>(frame));
  std::printf("\n");
  std::fflush(stdout);
}

void ends_by(int signal) {
  std::signal(signal, SIG_DFL);
  tell_where(std::string("ends by ") + strsignal(signal));
  std::raise(signal);
}

template <typename Handle, void (*destroy)(Handle*)>
struct Owned {
  Handle* handle = nullptr;
  ~Owned() { destroy(handle); }
};
using Context = Owned<tuff_context, tuff_context_destroy>;
using Device = Owned<tuff_device, tuff_device_destroy>;
using Program = Owned<tuff_program, tuff_program_destroy>;
using Buffer = Owned<tuff_buffer, tuff_buffer_destroy>;
using Event = Owned<tuff_event, tuff_event_destroy>;

#define TRY(call)                                                   \
  do {                                                              \
    if (tuff_status tried = (call); tried != TUFF_OK) return tried; \
  } while (false)

tuff_status make_input(tuff_device* device, Buffer* buffer) {
  constexpr int64_t kShape[] = {3, 5};
  tuff_tensor_type type = TUFF_INIT(tuff_tensor_type);
  type.dtype = TUFF_F32, type.rank = 2, type.shape = kShape;
  float values[15];
  for (int i = 0; i < 15; ++i) values[i] = static_cast<float>(i * 7 % 11) / 4 - 1;
  return tuff_buffer_create(device, &type, values, &buffer->handle);
}

tuff_status read_results(const std::array<Buffer, kResults>& results, Values* values) {
  float* to = values->data();
  for (size_t i = 0; i < kResults; to += kSizes[i++])
    TRY(tuff_buffer_read(results[i].handle, to, kSizes[i] * sizeof(float)));
  return TUFF_OK;
}

tuff_status run_on(tuff_device* device, tuff_program* program, Values* values) {
  Buffer input;
  TRY(make_input(device, &input));
  for (bool async : {false, true}) {
    std::array<Buffer, kResults> results;
    tuff_buffer* places[kResults] = {};
    Event event;
    tuff_status status =
        async ? tuff_program_run_async(program, nullptr, &input.handle, 1, places, kResults,
                                       &event.handle)
              : tuff_program_run(program, nullptr, &input.handle, 1, places, kResults);
    for (size_t i = 0; i < kResults; ++i) results[i].handle = places[i];
    TRY(status);
    if (async) TRY(tuff_event_wait(event.handle, UINT64_MAX));
    TRY(read_results(results, values));
  }
  return TUFF_OK;
}

// The small run on a device of the context, or on one that it opens.
tuff_status work(tuff_context* context, tuff_device* device, const char* id, Values* values) {
  Device opened;
  if (device == nullptr) {
    Context other;
    size_t count = 0;
    TRY(tuff_context_create(nullptr, &other.handle));
    TRY(tuff_context_count_devices(other.handle, &count));
    TRY(tuff_device_open(context, id, &opened.handle));
    device = opened.handle;
  }
  Program program;
  tuff_compile_options options = TUFF_INIT(tuff_compile_options);
  options.bytes = kModule, options.num_bytes = std::strlen(kModule), options.name = "m.mlir";
  TRY(tuff_program_compile(device, &options, &program.handle));
  TRY(run_on(device, program.handle, values));
  Program saved;
  const std::string file = std::string(getenv("TUFF_CACHE_DIR")) + ".tuff";
  TRY(tuff_program_save(program.handle, file.c_str(), nullptr));
  options.path = file.c_str(), options.bytes = nullptr, options.num_bytes = 0;
  TRY(tuff_program_compile(device, &options, &saved.handle));
  TRY(run_on(device, saved.handle, values));
  tuff_cache_info cache = TUFF_INIT(tuff_cache_info);
  return tuff_cache_get_info(context, &cache);
}

// What other sweeps of this device have tried.
struct Known {
  std::set<uint64_t> stacks;
  long allocations = 0;
};

long num_open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

struct Sweep {
  const char* id;
  bool opens;  // the device, in each run
  long some;
  bool leaks;
  long part, parts;
  int frames;
  Known* known;
  Context context{};
  Device device{};
  Values right{};
  long tried = 0, wrong = 0;

  std::string name(const Kind& kind, bool cold) const {
    return std::string(id) + (opens ? ", opened" : "") + (cold ? ", cold" : "") + ": " + kind.name +
           (*kind.code ? " " : "") + kind.code;
  }
  std::string name(const Kind& kind, bool cold, long at, long total) const {
    return name(kind, cold) + " at " + std::to_string(at) + " of " + std::to_string(total);
  }
  void say(const std::string& flaw) {
    ++wrong;
    tell_where(flaw);
  }
  tuff_status small_run(Values* values) {
    return work(context.handle, opens ? nullptr : device.handle, id, values);
  }

  // What is wrong with a run with a fault, or nothing.
  std::string judge(const Kind& kind, tuff_status status, const Values& values) const {
    if (status == TUFF_OK) return values == right ? "" : "other results";
    std::string told = tuff_status_name(status) + std::string(": ") + tuff_last_error();
    if (std::count(kind.allowed.begin(), kind.allowed.end(), status) == 0)
      return "a status that it should not have, " + told;
    return tuff_last_error()[0] == '\0' ? "no message" : "";
  }

  // A run whose fault `begin` lets happen, and one after it.
  template <typename Begin>
  void try_one(const Kind& kind, const std::string& where, bool cold, Begin begin) {
    ++tried;
    trying = where;
    if (cold) tuff_cache_clear(context.handle);
    Values values{};
    long files = num_open_files();
    alarm(300);
    begin();
    tuff_status status = small_run(&values);
    inject("", 0, "");
    if (std::string flaw = judge(kind, status, values); !flaw.empty()) say(flaw);
    if (status == TUFF_DEVICE_LOST && !opens) {
      tuff_device_destroy(device.handle);
      device.handle = nullptr;
      if (tuff_device_open(context.handle, id, &device.handle) != TUFF_OK)
        return say(std::string("then no device opens: ") + tuff_last_error());
    }
    values = {};
    status = work(context.handle, device.handle, id, &values);
    if (status != TUFF_OK || values != right)
      say(std::string("then a run is wrong: ") + tuff_status_name(status) + " " +
          (status ? tuff_last_error() : ""));
    if (status == TUFF_OK && num_open_files() > files) say("files stay open");
    if (leaks && leaks_now()) say("it leaks");
  }

  // True iff a run whose calls `begin` lets be counted is right.
  template <typename Begin>
  bool counts(bool cold, Begin begin) {
    Values values{};
    if (cold) tuff_cache_clear(context.handle);
    begin();
    tuff_status status = small_run(&values);
    inject("", 0, "");
    return status == TUFF_OK && values == right;
  }

  void sweep(const Kind& kind, bool cold) {
    if (!counts(cold, [&] { inject(kind.name, 0, kind.code); }))
      return say(name(kind, cold) + " fails without a fault");
    long total = injected_calls(), last = total, before = wrong, tried_before = tried;
    if (std::strcmp(kind.name, "memory") == 0) {
      // Once the device is open, a run asks for what it asked for on the one that was.
      last -= known->allocations - total / 100;
      known->allocations = total;
    }
    long step = std::max(1L, last / some);
    for (long at = 1 + (step > 1 ? last % step / 2 : 0); at <= std::min(last, total); at += step)
      if (at / step % parts == part)
        try_one(kind, name(kind, cold, at, total), cold, [&] { inject(kind.name, at, kind.code); });
    std::printf("%s: %ld of %ld calls, %ld wrong\n", name(kind, cold).c_str(), tried - tried_before,
                total, wrong - before);
    std::fflush(stdout);
  }

  // Of how many frames it came up: one whose outermost frames were chance by the others. 0: not.
  int try_way(const Kind& kind, const std::string& where, const callers::Stack& stack) {
    const long tried_now = tried + 1;
    for (int depth = frames; depth > 0; --depth)
      for (int tries = depth == frames ? kTries : kTriesWithLess; tries > 0; --tries) {
        try_one(kind, where, true, [&] { inject_at(kind.name, stack, depth); });
        tried = tried_now;
        if (has_failed()) return depth;
      }
    return 0;
  }

  // By the ways that no sweep before has taken. Which of two threads compiles a kernel is chance:
  // ways are collected from some runs, and tried until they come up again.
  void sweep_stacks(const Kind& kind, int threads) {
    pretend_processors(threads);
    const std::string what = name(kind, true) + ", threads " + std::to_string(threads);
    std::vector<callers::Stack> stacks;
    for (int run = 0; run < kCounts; ++run) {
      if (!counts(true, [&] { count_stacks(kind.name, frames); }))
        return say(what + " fails without a fault");
      for (const callers::Stack& stack : counted_stacks())
        if (known->stacks.insert(stack.hash(frames)).second) stacks.push_back(stack);
    }
    long total = static_cast<long>(stacks.size()), step = std::max(1L, total / some);
    long before = wrong, tried_before = tried, shortened = 0, gone = 0;
    for (long i = step / 2; i < total; i += step) {
      const callers::Stack& stack = stacks[static_cast<size_t>(i)];
      if (static_cast<long>(stack.hash(frames) % static_cast<uint64_t>(parts)) != part) continue;
      const std::string where = what + " at " + std::to_string(i) + " of " + std::to_string(total);
      const int depth = try_way(kind, where, stack);
      shortened += depth > 0 && depth < frames;
      gone += depth == 0;
    }
    pretend_processors(0);
    std::printf("%s: %ld of %ld ways, %ld by fewer frames, %ld not taken again, %ld wrong\n",
                what.c_str(), tried - tried_before, total, shortened, gone, wrong - before);
    std::fflush(stdout);
  }
};

struct Asked {
  long some = 8;
  bool leaks = false;
  long part = 0, parts = 1;
  int frames = 12;
  std::string devices = "cpu,vulkan";
  std::vector<std::string> kinds;
};

Asked parse(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--all")
      asked.some = LONG_MAX;
    else if (word.starts_with("--some="))
      asked.some = std::atol(argv[i] + 7);
    else if (word.starts_with("--part="))
      std::sscanf(argv[i] + 7, "%ld/%ld", &asked.part, &asked.parts), --asked.part;
    else if (word.starts_with("--frames="))
      asked.frames = std::clamp(std::atoi(argv[i] + 9), 1, callers::Stack::kMostFrames);
    else if (word.starts_with("--devices="))
      asked.devices = word.substr(10);
    else if (word == "--leaks")
      asked.leaks = true;
    else
      asked.kinds.emplace_back(word);
  }
  return asked;
}

// Counts what was tried, or says why nothing was.
long sweep_device(const char* id, bool opens, const Asked& asked, Known* known, long* tried) {
  Sweep sweep{.id = id,
              .opens = opens,
              .some = asked.some,
              .leaks = asked.leaks,
              .part = asked.part,
              .parts = asked.parts,
              .frames = asked.frames,
              .known = known};
  if (tuff_context_create(nullptr, &sweep.context.handle) != TUFF_OK ||
      tuff_device_open(sweep.context.handle, id, &sweep.device.handle) != TUFF_OK ||
      work(sweep.context.handle, sweep.device.handle, id, &sweep.right) != TUFF_OK) {
    std::printf("skipped: %s: %s\n", id, tuff_last_error());
    return 0;
  }
  bool vulkan = std::strcmp(id, "vulkan") == 0;
  for (const Kind& kind : kKinds) {
    auto names = [&kind](const std::string& word) {
      return word == kind.name || word == std::string(kind.name) + ":" + kind.code;
    };
    if (!asked.kinds.empty() && std::none_of(asked.kinds.begin(), asked.kinds.end(), names))
      continue;
    if (!vulkan && std::strcmp(kind.name, "vulkan") == 0) continue;
    sweep.sweep(kind, false);
    if (!vulkan) continue;  // the CPU keeps nothing on disk
    if (std::strcmp(kind.name, "memory") != 0)
      sweep.sweep(kind, true);
    else
      for (int threads : {1, 2}) sweep.sweep_stacks(kind, threads);
  }
  *tried += sweep.tried;
  return sweep.wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked = parse(argc, argv);
  char folder[] = "/tmp/tuff_faults_XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  setenv("TUFF_CACHE_DIR", folder, 1);
  setenv("TUFF_VALIDATION", "0", 1);  // the layer has threads and memory of its own
  inject_into("libtuff.");
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    std::signal(signal, ends_by);
  long tried = 0, wrong = 0;
  for (const char* id : {"cpu", "vulkan"}) {
    Known known;
    if (asked.devices.find(id) != std::string::npos)
      for (bool opens : {false, true}) wrong += sweep_device(id, opens, asked, &known, &tried);
  }
  std::filesystem::remove_all(folder);
  std::filesystem::remove(std::string(folder) + ".tuff");
  std::printf("%ld faults, %ld wrong\n", tried, wrong);
  return wrong > 0 || tried == 0 ? 1 : 0;
}
