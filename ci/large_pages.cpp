// What jemalloc reads before a program begins: memory in large pages. The solver's tables alone are
// 4,000 small ones, and to touch them for the first time is a fifth of the time of a short check.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
