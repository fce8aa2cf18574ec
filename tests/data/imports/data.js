window.BENCHMARK_DATA = {
  "lastUpdate": 1795436000000,
  "repoUrl": "https://github.com/example/fib",
  "entries": {
    "Python Benchmark with pytest-benchmark": [
      {
        "cpu": {
          "speed": "2.40",
          "cores": 2,
          "physicalCores": 2,
          "processors": 1
        },
        "extra": {
          "pythonVersion": "3.12.4"
        },
        "commit": {
          "id": "abababababababababababababababababababab",
          "message": "Measure it",
          "timestamp": "2026-11-20T21:08:28Z",
          "url": "https://github.com/example/fib/pull/1/commits/abababababababababababababababababababab"
        },
        "date": 1795208905026,
        "benches": [
          {
            "name": "bench.py::test_fib[20]",
            "value": 892.5,
            "unit": "iter/sec",
            "range": "stddev: 0.00015383",
            "group": "fib",
            "extra": "mean: 1.1204 msec\nrounds: 185"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "ann@example.org",
            "name": "Ann",
            "username": "ann"
          },
          "committer": {
            "email": "ann@example.org",
            "name": "Ann",
            "username": "ann"
          },
          "distinct": true,
          "id": "cccccccccccccccccccccccccccccccccccccccc",
          "message": "Remember results",
          "timestamp": "2026-11-21T10:00:00+01:00",
          "tree_id": "cccccccccccccccccccccccccccccccccccccccc",
          "url": "https://github.com/example/fib/commit/cccccccccccccccccccccccccccccccccccccccc"
        },
        "date": 1795252000000,
        "tool": "pytest",
        "benches": [
          {
            "name": "bench.py::test_fib[20]",
            "value": 1785.0,
            "unit": "iter/sec",
            "range": "stddev: 0.0000042",
            "extra": "mean: 560.22 usec\nrounds: 410"
          }
        ]
      }
    ],
    "Go Benchmark": [
      {
        "commit": {
          "author": {
            "email": "ann@example.org",
            "name": "Ann",
            "username": "ann"
          },
          "committer": {
            "email": "ann@example.org",
            "name": "Ann",
            "username": "ann"
          },
          "distinct": true,
          "id": "cccccccccccccccccccccccccccccccccccccccc",
          "message": "Remember results",
          "timestamp": "2026-11-21T10:00:00+01:00",
          "tree_id": "cccccccccccccccccccccccccccccccccccccccc",
          "url": "https://github.com/example/fib/commit/cccccccccccccccccccccccccccccccccccccccc"
        },
        "date": 1795252100000,
        "tool": "go",
        "benches": [
          {
            "name": "BenchmarkFib20",
            "value": 41653,
            "unit": "ns/op",
            "extra": "30000 times"
          },
          {
            "name": "BenchmarkFib20 - B/op",
            "value": 16,
            "unit": "B/op",
            "extra": "30000 times"
          },
          {
            "name": "BenchmarkFib40",
            "value": "slow",
            "unit": "ns/op"
          },
          {
            "name": "BenchmarkFib10",
            "value": 1.5,
            "unit": "μs",
            "range": "± 2.68%"
          }
        ]
      }
    ]
  }
}
