// Whose threads a library gets that asks OpenMP for them, as oneDNN does.
//
// Why the library's own calls are redirected, and nothing is exported for it to find: what the
// loader finds first serves all of a process. The functions that a program exports would be
// called by every other library that uses OpenMP, and a program that has loaded OpenMP would
// have oneDNN call that.
#pragma once

namespace tuff::cpu {

// Redirects the OpenMP calls of the shared library that has the code at `address` to the
// threads of thread_pool.h. False where it calls a function that has no answer here, or the
// system forbids it: the library is then left as it was. Other libraries keep their OpenMP.
// (One oneDNN that two parts of a process share, as tuff and a distribution's PyTorch may, has
// these threads for both.)
bool answer_openmp_calls(const void* address);

}  // namespace tuff::cpu
