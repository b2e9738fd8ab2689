#include "backend/cpu/openmp_calls.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// What oneDNN asks of OpenMP, with the meaning that libgomp documents for it.
void parallel(void (*part)(void*), void* data, unsigned threads, unsigned) {
  run_parts(threads == 0 ? max_threads() : static_cast<int>(threads), part, data);
}
int is_parallel() { return current_parts() > 1; }
void set_threads(int threads) { set_thread_limit(threads); }

struct Answer {
  std::string_view name;
  uintptr_t function;
};

template <typename Function>
Answer answer(std::string_view name, Function* function) {
  return {name, reinterpret_cast<uintptr_t>(function)};
}

// The function that answers a call of `name`; 0: not known here.
uintptr_t answer_of(std::string_view name) {
  static const Answer answers[] = {
      answer("GOMP_parallel", parallel),          answer("GOMP_barrier", barrier),
      answer("omp_get_max_threads", max_threads), answer("omp_get_num_threads", current_parts),
      answer("omp_get_thread_num", current_part), answer("omp_in_parallel", is_parallel),
      answer("omp_set_num_threads", set_threads),
  };
  for (const Answer& known : answers)
    if (known.name == name) return known.function;
  return 0;
}

bool is_openmp(std::string_view name) {
  return name.starts_with("GOMP_") || name.starts_with("omp_");
}

uintptr_t page_of(uintptr_t address) {
  return address & ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
}

// A loaded library, and its tables of words that the loader fills in (elf(5)).
struct Library {
  uintptr_t base = 0;
  uintptr_t read_only_first = 0, read_only_end = 0;  // whole pages, protected once filled in
  const char* names = nullptr;
  const Elf64_Sym* symbols = nullptr;
  std::span<const Elf64_Rela> data, calls;
};

Library read_library(const dl_phdr_info& info) {
  Library library;
  library.base = info.dlpi_addr;
  const Elf64_Dyn* entry = nullptr;
  for (const Elf64_Phdr& part : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    if (part.p_type == PT_DYNAMIC)
      entry = reinterpret_cast<const Elf64_Dyn*>(library.base + part.p_vaddr);
    if (part.p_type == PT_GNU_RELRO) {
      library.read_only_first = page_of(library.base + part.p_vaddr);
      library.read_only_end = page_of(library.base + part.p_vaddr + part.p_memsz);
    }
  }
  const Elf64_Rela *data = nullptr, *calls = nullptr;
  size_t data_bytes = 0, calls_bytes = 0;
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    // Most loaders have added the base to addresses, some have not.
    uintptr_t address = entry->d_un.d_ptr;
    if (address < library.base) address += library.base;
    switch (entry->d_tag) {
      case DT_STRTAB: library.names = reinterpret_cast<const char*>(address); break;
      case DT_SYMTAB: library.symbols = reinterpret_cast<const Elf64_Sym*>(address); break;
      case DT_RELA: data = reinterpret_cast<const Elf64_Rela*>(address); break;
      case DT_RELASZ: data_bytes = entry->d_un.d_val; break;
      case DT_JMPREL: calls = reinterpret_cast<const Elf64_Rela*>(address); break;
      case DT_PLTRELSZ: calls_bytes = entry->d_un.d_val; break;
    }
  }
  if (data != nullptr) library.data = {data, data_bytes / sizeof *data};
  if (calls != nullptr) library.calls = {calls, calls_bytes / sizeof *calls};
  return library;
}

struct Redirection {
  uintptr_t* word;
  uintptr_t function;
};

// The words of `library` that hold addresses of OpenMP's functions. False: one of them has no
// answer. To answer the others would mix two teams of threads.
bool find_redirections(const Library& library, std::vector<Redirection>& found) {
  for (std::span<const Elf64_Rela> table : {library.data, library.calls})
    for (const Elf64_Rela& entry : table) {
      uint64_t symbol = ELF64_R_SYM(entry.r_info);
      if (symbol == 0) continue;
      std::string_view name = library.names + library.symbols[symbol].st_name;
      if (!is_openmp(name)) continue;
      uintptr_t function = answer_of(name);
      if (function == 0) return false;
      found.push_back({reinterpret_cast<uintptr_t*>(library.base + entry.r_offset), function});
    }
  return true;
}

bool protect(uintptr_t* word, int protection) {
  uintptr_t first = page_of(reinterpret_cast<uintptr_t>(word));
  uintptr_t end = reinterpret_cast<uintptr_t>(word + 1);
  return mprotect(reinterpret_cast<void*>(first), end - first, protection) == 0;
}

bool redirect(const Library& library) {
  std::vector<Redirection> redirections;
  if (!find_redirections(library, redirections)) return false;
  auto read_only = [&](uintptr_t* word) {
    auto address = reinterpret_cast<uintptr_t>(word);
    return address >= library.read_only_first && address < library.read_only_end;
  };
  bool writable = true;
  for (const Redirection& r : redirections)
    if (read_only(r.word)) writable = writable && protect(r.word, PROT_READ | PROT_WRITE);
  for (const Redirection& r : redirections)
    if (writable) __atomic_store_n(r.word, r.function, __ATOMIC_RELEASE);
  for (const Redirection& r : redirections)
    if (read_only(r.word)) protect(r.word, PROT_READ);
  return writable;
}

struct Search {
  uintptr_t address;
  bool answered = false;
};

// For dl_iterate_phdr: not 0 ends the search.
int redirect_if_searched(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (const Elf64_Phdr& part : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (part.p_type != PT_LOAD) continue;
    uintptr_t first = info->dlpi_addr + part.p_vaddr;
    if (search.address < first || search.address >= first + part.p_memsz) continue;
    search.answered = redirect(read_library(*info));
    return 1;
  }
  return 0;
}

}  // namespace

bool answer_openmp_calls(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address)};
  dl_iterate_phdr(redirect_if_searched, &search);
  return search.answered;
}

}  // namespace tuff::cpu
