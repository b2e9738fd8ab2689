// tuff cache: the compiled kernels that are kept on disk.
#include <fmt/format.h>

#include <cstdio>

#include "backend/cache.h"
#include "frontend/cli/command.h"
#include "frontend/cli/reporting.h"
#include "frontend/cli/terminal.h"

namespace tuff::cli {

namespace {

Result<std::shared_ptr<DiskCache>> open_cache() {
  std::shared_ptr<DiskCache> cache = DiskCache::open_default();
  if (cache) return cache;
  return Error{ErrorCode::kRunFailed,
               "The environment names no cache directory; set TUFF_CACHE_DIR or HOME.", ""};
}

Json json_of(const CacheStat& stat) {
  return {{"directory", stat.directory},
          {"entries", stat.entries},
          {"bytes", stat.bytes},
          {"max_bytes", stat.max_bytes}};
}

Status show(const CacheStat& stat, const char* verb, bool json) {
  if (json)
    print_json(json_of(stat));
  else
    print_text(fmt::format("{} {} entries, {} of at most {}, in {}", verb, stat.entries,
                           format_bytes(stat.bytes), format_bytes(stat.max_bytes), stat.directory) +
               "\n");
  return {};
}

Status cache_stat(bool json) {
  TUFF_ASSIGN(auto cache, open_cache());
  TUFF_ASSIGN(CacheStat stat, cache->stat());
  return show(stat, "holds", json);
}

Status cache_clear(bool json) {
  TUFF_ASSIGN(auto cache, open_cache());
  TUFF_ASSIGN(CacheStat removed, cache->clear());
  return show(removed, "removed", json);
}

// Damaged entries are never used; they are listed here, and exit 1 tells a script.
Status cache_verify(bool json) {
  TUFF_ASSIGN(auto cache, open_cache());
  TUFF_ASSIGN(CacheVerdict verdict, cache->verify());
  if (json) {
    print_json({{"directory", cache->directory()}, {"good", verdict.good}, {"bad", verdict.bad}});
  } else {
    for (const std::string& entry : verdict.bad) print_text(entry + "\n");
    print_text(fmt::format("{} entries are good, {} are damaged, in {}", verdict.good,
                           verdict.bad.size(), cache->directory()) +
               "\n");
  }
  if (verdict.bad.empty()) return {};
  return Error{ErrorCode::kRunFailed,
               fmt::format("The cache holds ({}) damaged entries; `tuff cache clear` removes them.",
                           verdict.bad.size()),
               cache->directory()};
}

}  // namespace

void add_cache(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("cache", "Look at, check or empty the cache of compiled kernels");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto add = [&](const char* name, const char* doc, Status (*action)(bool)) {
    CLI::App* sub = command->add_subcommand(name, doc);
    sub->add_flag("--json", *json, "One JSON object on stdout");
    sub->callback([action, json, &chosen] { chosen = [action, json] { return action(*json); }; });
  };
  add("stat", "Where it is and how full", cache_stat);
  add("verify", "Read every entry; exit 1 when one is damaged", cache_verify);
  add("clear", "Remove every entry", cache_clear);
}

}  // namespace tuff::cli
