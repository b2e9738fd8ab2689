// OpenMP's functions as openmp_user.cpp's library finds them: teams of one thread.
extern "C" {
void GOMP_parallel(void (*part)(void*), void* data, unsigned, unsigned) { part(data); }
void GOMP_barrier() {}
void GOMP_critical_start() {}
int omp_get_max_threads() { return 1; }
int omp_get_num_threads() { return 1; }
int omp_get_thread_num() { return 0; }
int omp_in_parallel() { return 0; }
}
