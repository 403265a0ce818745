/* restfeed.h - after a start the scheduler hears of jobs that only wait behind the first answers
 *
 * To tell it of a hundred thousand takes longer than all else a controller does between the end of
 * the log and its first answer.  The core tells a piece at a time, between commands, and the
 * scheduler neither makes a pass nor answers until it knows all (FEED_PARTIAL, FEED_WHOLE).  The
 * service is the whole of it. */
#pragma once
