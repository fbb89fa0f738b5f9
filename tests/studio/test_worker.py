"""The server's side of the worker process: what is said about a job is true of the process."""

import asyncio
import sys

from shoal.studio.worker import Job, Worker

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"


def test_a_job_is_cancelled_only_when_its_process_is_gone():
    """The wrong version: the job is cancelled at once, and the screen says for half a second that the worker ended."""

    async def cancel():
        worker, ended = Worker(), []
        process = worker.process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", STUBBORN, stdout=asyncio.subprocess.PIPE
        )
        await process.stdout.readline()
        job = Job("protect", {}, state="running", when_done=lambda one: ended.append((one.state, process.returncode)))
        worker.current = job
        cancelling = asyncio.create_task(worker.cancel(job))
        await asyncio.sleep(0.1)
        assert job.open
        assert process.returncode is None
        worker._take(job, {"id": worker._number, "result": {}})  # an answer at the last moment
        await asyncio.gather(cancelling, worker.cancel(job))
        assert ended == [("cancelled", process.returncode)]
        return process.returncode, job

    code, job = asyncio.run(cancel())
    assert code < 0
    assert job.state == "cancelled"
    assert job.result is None
