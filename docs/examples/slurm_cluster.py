"""Let Slurm start the workers that read traces into a dataset: python slurm_cluster.py traces/ job/ 4.

The last argument is the number of Slurm jobs. Needs traceq with its extra `cluster` (in a clone: pip install '.[cluster]')
and dask-jobqueue, here and on the nodes.
"""

import sys

from dask_jobqueue import SLURMCluster

import traceq

if __name__ == "__main__":
    traces, dataset, jobs = sys.argv[1:]
    # Each job is one node's: as many workers as cores, which make a piece each at a time. queue=, account= as for sbatch.
    with SLURMCluster(cores=2, processes=2, memory="4GB", walltime="01:00:00") as cluster:
        cluster.scale(jobs=int(jobs))
        result = traceq.ingest(traces, dataset, cluster=cluster.scheduler_address)
    for failure in result.failures:
        sys.stderr.write(f"{failure.reason}\n")
    sys.exit(1 if result.failures else 0)
