/* sanitizer.c - where programs that are built with sanitizers leave their reports
 *
 * A step daemon starts with an empty environment and without a standard error, so that no
 * variable can say where.  The sanitizers' libraries ask these functions before main(); what
 * ASAN_OPTIONS and its like say counts more, and so does a program that has such a function
 * itself. tests/run-tests counts the reports as failures.  Empty in other builds. */
#ifdef SANITIZER_LOG

#include <errno.h>
#include <string.h>

__attribute__((weak)) int __lsan_is_turned_off(void);
__attribute__((weak)) const char *__asan_default_options(void);
__attribute__((weak)) const char *__ubsan_default_options(void);
__attribute__((weak)) const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "log_path=" SANITIZER_LOG ":detect_stack_use_after_return=1:disable_coredump=0";
}

/* Commands leave their memory to the kernel.  Step daemons run in name spaces of processes, in
 * which the search for leaks waits for ever for a thread that it cannot trace. */
int __lsan_is_turned_off(void)
{
    const char *name = program_invocation_short_name;

    return strncmp(name, "slurmstepd", 10) == 0 ||
           (strncmp(name, "slurm", 5) != 0 && strncmp(name, "test_", 5) != 0 &&
            strncmp(name, "fuzz_", 5) != 0);
}

const char *__ubsan_default_options(void)
{
    return "log_path=" SANITIZER_LOG ":print_stacktrace=1:halt_on_error=1";
}

const char *__tsan_default_options(void)
{
    return "log_path=" SANITIZER_LOG ":second_deadlock_stack=1:disable_coredump=0";
}

#else
typedef int sanitizer_unused; /* a source without a declaration is none */
#endif
