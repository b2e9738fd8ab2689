// Faults of one process, which says when: see inject.cpp for the kinds and codes.
#pragma once

#include <span>
#include <vector>

#include "tests/faults/callers.h"

// Whose calls count: of the library with these words in its name, which is loaded.
void inject_into(const char* library_name);
// From now on the call number `at` of the kind fails; at 0 none does, and calls are counted. An
// empty kind ends it.
void inject(const char* kind, long at, const char* code);
// Of the kind that was last named, since then.
long injected_calls();

// The same for calls that count by their stacks of so many frames. None fails, and the stacks are
// noted ...
void count_stacks(const char* kind, int frames);
std::vector<callers::Stack> counted_stacks();
// ... or the first call by this stack's innermost frames fails. Of memory and threads.
void inject_at(const char* kind, const callers::Stack& stack, int frames);

// How many processors the C++ library tells of from now on, so that as many threads share work; 0:
// as many as there are.
void pretend_processors(int count);

// True iff a call has failed, since it was last said which; where, as own_frames has it.
bool has_failed();
std::span<const uint64_t> failed_at();
