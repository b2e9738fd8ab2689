#include "frontend/pjrt/compile_options.h"

#include <optional>

#include "frontend/pjrt/wire.h"

namespace tuff::pjrt {

namespace {

// Field numbers of the messages.
constexpr uint32_t kBuildOptions = 3, kOverrides = 7;                           // of the options
constexpr uint32_t kNumReplicas = 4, kNumPartitions = 5, kAssignment = 9;       // of those
constexpr uint32_t kReplicaCount = 1, kComputationCount = 2, kComputation = 3;  // of an assignment
constexpr uint32_t kEntryKey = 1;                                               // of a map's entry
constexpr uint32_t kDeviceIds = 1;                                              // of a computation

constexpr int64_t kMaxDevices = 1 << 20;

Error malformed() {
  return {ErrorCode::kBadInput, "The compile options are no CompileOptionsProto.", ""};
}

// One field of a message in the protocol buffers' wire format.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a length-delimited field
};

// Reads a message field by field; `failed` once the bytes make no sense.
class Message {
 public:
  explicit Message(std::string_view bytes) : bytes_(bytes) {}
  bool failed() const { return failed_; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  bool empty() const { return bytes_.empty(); }

  std::optional<Field> next() {
    if (bytes_.empty() || failed_) return std::nullopt;
    uint64_t tag = varint();
    Field field;
    field.number = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0: field.value = varint(); break;
      case 1: field.bytes = take(8); break;
      case 2: field.bytes = take(varint()); break;
      case 5: field.bytes = take(4); break;
      default: failed_ = true;
    }
    if (failed_) return std::nullopt;
    return field;
  }

 private:
  std::string_view take(uint64_t size) {
    if (size > bytes_.size()) failed_ = true;
    if (failed_) return {};
    std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

// Adds one computation's ids, its replicas in order.
bool read_computation(std::string_view bytes, std::vector<int64_t>* ids) {
  Message message(bytes);
  while (std::optional<Field> field = message.next()) {
    if (field->number != kDeviceIds) continue;
    if (field->bytes.empty()) {
      ids->push_back(static_cast<int64_t>(field->value));
      continue;
    }
    Message packed(field->bytes);
    while (!packed.empty() && !packed.failed())
      ids->push_back(static_cast<int64_t>(packed.varint()));
    if (packed.failed()) return false;
  }
  return !message.failed();
}

// An entry of the map from a compiler option's name to its value. XLA's own options
// mean nothing here and are let pass; of others the caller expects something.
Status check_option(std::string_view entry) {
  Message message(entry);
  while (std::optional<Field> field = message.next())
    if (field->number == kEntryKey && !field->bytes.starts_with("xla_"))
      return Error{ErrorCode::kBadInput,
                   "No such compile option: '" + std::string(field->bytes) + "'.", ""};
  return message.failed() ? Status(malformed()) : Status();
}

bool read_assignment(std::string_view bytes, DeviceAssignment* assignment) {
  std::vector<std::vector<int64_t>> computations;
  Message message(bytes);
  while (std::optional<Field> field = message.next())
    if (field->number == kComputation &&
        !read_computation(field->bytes, &computations.emplace_back()))
      return false;
  if (message.failed()) return false;
  size_t replicas = computations.empty() ? 0 : computations.front().size();
  for (size_t replica = 0; replica < replicas; ++replica)
    for (const std::vector<int64_t>& computation : computations) {
      if (computation.size() != replicas) return false;
      assignment->device_ids.push_back(computation[replica]);
    }
  return true;
}

}  // namespace

std::string DeviceAssignment::serialize() const {
  std::string bytes;
  write_number(&bytes, kReplicaCount, num_replicas);
  write_number(&bytes, kComputationCount, num_partitions);
  for (int64_t partition = 0; partition < num_partitions; ++partition) {
    std::string ids, computation;
    for (int64_t replica = 0; replica < num_replicas; ++replica)
      write_varint(&ids,
                   static_cast<uint64_t>(
                       device_ids[static_cast<size_t>(replica * num_partitions + partition)]));
    write_bytes(&computation, kDeviceIds, ids);
    write_bytes(&bytes, kComputation, computation);
  }
  return bytes;
}

Result<DeviceAssignment> parse_compile_options(std::string_view bytes) {
  DeviceAssignment assignment;
  Message options(bytes);
  while (std::optional<Field> option = options.next()) {
    if (option->number == kOverrides) TUFF_RETURN_IF_ERROR(check_option(option->bytes));
    if (option->number != kBuildOptions) continue;
    Message build(option->bytes);
    while (std::optional<Field> field = build.next()) {
      if (field->number == kNumReplicas)
        assignment.num_replicas = static_cast<int64_t>(field->value);
      if (field->number == kNumPartitions)
        assignment.num_partitions = static_cast<int64_t>(field->value);
      if (field->number == kAssignment && !read_assignment(field->bytes, &assignment))
        return malformed();
    }
    if (build.failed()) return malformed();
  }
  // Unset numbers are written as 0 or not at all.
  if (assignment.num_replicas < 1) assignment.num_replicas = 1;
  if (assignment.num_partitions < 1) assignment.num_partitions = 1;
  if (assignment.num_replicas > kMaxDevices || assignment.num_partitions > kMaxDevices)
    return malformed();
  size_t expected = static_cast<size_t>(assignment.num_replicas * assignment.num_partitions);
  bool fits = assignment.device_ids.empty() || assignment.device_ids.size() == expected;
  if (options.failed() || !fits) return malformed();
  return assignment;
}

}  // namespace tuff::pjrt
