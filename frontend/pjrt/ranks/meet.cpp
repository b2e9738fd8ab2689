#include "frontend/pjrt/ranks/meet.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tuff::pjrt {

namespace {

// Equal for processes that understand each other. The number counts changes of what they say.
constexpr std::string_view kVersion = "tuff " TUFF_VERSION ", ranks 4";
// The caller has met them all before; this is how far apart they may begin to use devices.
constexpr int kMeetMs = 300'000;

constexpr std::string_view kUnable = "unable";

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Lines: the version; then of a rank that is unable the word and the reason, of others the host,
// the machine, the address, the engine and one for each device.
std::string to_text(const Result<RankInfo>& info) {
  std::string text(kVersion);
  auto add = [&](std::string_view line) { text.append("\n").append(one_line(std::string(line))); };
  if (!info) {
    add(kUnable);
    add(info.error().to_string());
    return text;
  }
  for (const std::string* line : {&info->host, &info->machine, &info->address, &info->engine})
    add(*line);
  for (const std::string& device : info->devices) add(device);
  return text;
}

Result<RankInfo> parse(const std::string& text, int rank) {
  std::istringstream lines(text);
  std::string version, first, second;
  std::getline(lines, version);
  if (version != kVersion)
    return Error{ErrorCode::kUsage,
                 fmt::format("Rank ({}) has ({}), this one ({}); install the same version for all.",
                             rank, version, kVersion),
                 ""};
  std::getline(lines, first);
  std::getline(lines, second);
  if (first == kUnable)
    return Error{ErrorCode::kNoDevice, fmt::format("Rank ({}) cannot take part: {}", rank, second),
                 ""};
  RankInfo info{first, second, "", "", {}};
  std::getline(lines, info.address);
  std::getline(lines, info.engine);
  for (std::string device; std::getline(lines, device);) info.devices.push_back(device);
  return info;
}

}  // namespace

Result<std::vector<RankInfo>> meet_ranks(const KeyValues& store, const std::string& prefix,
                                         int rank, int size, const Result<RankInfo>& own) {
  TUFF_RETURN_IF_ERROR(store.put(fmt::format("{}rank/{}", prefix, rank), to_text(own)));
  if (!own) return own.error();
  std::vector<RankInfo> infos;
  for (int other = 0; other < size; ++other) {
    Result<std::string> text = store.get(fmt::format("{}rank/{}", prefix, other), kMeetMs);
    if (!text)
      return Error{
          ErrorCode::kNoDevice,
          fmt::format("Rank ({}) of ({}) has not begun to use tuff's devices for {} s; see "
                      "what it does, and that it runs on tuff, too ({}).",
                      other, size, kMeetMs / 1000, text.error().message),
          ""};
    TUFF_ASSIGN(RankInfo info, parse(*text, other));
    if (info.engine != own->engine)
      return Error{ErrorCode::kUsage,
                   fmt::format("The data of rank ({}) is carried by ({}), this one's by ({}); let "
                               "TUFF_TRANSPORT name the same for all.",
                               other, info.engine, own->engine),
                   ""};
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<std::string> address_for_ranks(const std::vector<RankInfo>& infos, int rank) {
  const RankInfo& own = infos[static_cast<size_t>(rank)];
  bool together = std::all_of(infos.begin(), infos.end(),
                              [&](const RankInfo& info) { return info.machine == own.machine; });
  if (together) return std::string("127.0.0.1");
  if (!own.address.empty()) return own.address;
  return Error{
      ErrorCode::kUsage,
      fmt::format("Ranks are on several machines, and this one ({}) has no address but the "
                  "loopback interface's; let TUFF_HOST name one.",
                  own.host),
      ""};
}

}  // namespace tuff::pjrt
