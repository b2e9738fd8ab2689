// Faults of one process, which says when: see inject.cpp for the kinds and codes.
#pragma once

// Whose calls count: of the library with these words in its name, which is loaded.
void inject_into(const char* library_name);
// From now on the call number `at` of the kind fails; at 0 none does, and calls are counted. An
// empty kind ends it.
void inject(const char* kind, long at, const char* code);
// Of the kind that was last named, since then.
long injected_calls();
