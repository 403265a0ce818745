/* streampeer.h - one standby, from the active controller's side: a thread that sends */
#pragma once

/* The thread; arg is a struct stream_peer (streamlog_impl.h).  Ends when its log stops. */
void *stream_peer_main(void *arg);
