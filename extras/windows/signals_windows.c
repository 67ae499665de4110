#include "base/signals.h"

#include <stddef.h>
#include <windows.h>

static void (*handle)(Signal signal);
static SRWLOCK one_at_a_time = SRWLOCK_INIT;

static Signal signal_of(DWORD event) {
    return event == CTRL_C_EVENT       ? SIGNAL_INTERRUPT
           : event == CTRL_BREAK_EVENT ? SIGNAL_TERMINATE
                                       : SIGNAL_HANGUP;
}

/* The system gives a program a few seconds after its console was closed, as long as this does not
 * return. */
static BOOL WINAPI on_event(DWORD event) {
    AcquireSRWLockExclusive(&one_at_a_time);
    handle(signal_of(event));
    ReleaseSRWLockExclusive(&one_at_a_time);
    if (signal_of(event) == SIGNAL_HANGUP) Sleep(INFINITE);
    return TRUE;
}

void signals_catch(void (*wanted)(Signal signal)) {
    handle = wanted;
    SetConsoleCtrlHandler(on_event, TRUE);
}

static BOOL WINAPI on_ignored(DWORD event) {
    (void)event;
    return TRUE;
}

void signals_ignore(void) {
    SetConsoleCtrlHandler(on_ignored, TRUE);
}

void signals_die(Signal signal) {
    (void)signal;
    TerminateProcess(GetCurrentProcess(), (UINT)STATUS_CONTROL_C_EXIT);
}

void signals_ignore_limits(void) {}

/* Events come in a thread of their own. */
void signals_hold(void) {}
void signals_release(void) {}

/* ---- turns ---- */

static volatile sig_atomic_t *stop;

static BOOL WINAPI on_stop(DWORD event) {
    if (event != CTRL_C_EVENT) return FALSE;
    *stop = 1;
    return TRUE;
}

void signals_take_turns(volatile sig_atomic_t *stopped) {
    stop = stopped;
    SetConsoleCtrlHandler(on_stop, TRUE);
}

void signals_end_turns(void) {
    SetConsoleCtrlHandler(on_stop, FALSE);
}

void signals_let_through(void) {}
void signals_keep_out(void) {}

/* terminal_read_line returns at Ctrl-C. */
bool signals_await_input(void) {
    return true;
}
