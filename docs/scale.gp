# docs/scale.svg and the figures of docs/scale.md, from what extras/mpi/scaling measured (docs/scale.csv):
#     gnuplot docs/scale.gp
# mbit,processes,parameters,tokens,buckets,bytes,compute,gradients,weights,rest,step

set datafile separator ","
set fit quiet
set fit logfile "/dev/null"
data = "docs/scale.csv"

# A message: what a step sends beside gradients and weights are five collectives of a few bytes, one
# after the other; on two processes, which have a core each.
stats data using ($2 == 2 ? $10 / 5 : NaN) nooutput
alpha = STATS_mean

# Messages of a step: k buckets there and back, and n bytes of gradients of which each process sends
# all but its own part, twice, at so many bytes a second: t = 2 k alpha + gamma 2 (N-1)/N n beta.
# Every point counts by its relative error; those of less than a megabyte pass in the burst that the
# limit allows.
bits(mbit) = mbit * 1e6 / 8
bytes(N, parameters, mbit) = 2. * (N - 1) / N * 4 * parameters / bits(mbit)
messages(k, x) = 2 * k * alpha + gamma * x
gamma = 1.
fit [*:*] messages(x, y) data using \
	($2 > 1 && $6 > 1e6 ? $5 : NaN):($2 > 1 ? bytes($2, $3, $1) : NaN):($8 + $9):($8 + $9) zerror via gamma
print sprintf("alpha %.0f us; %.2f times the bytes' own time; rms of relative errors %.0f %%", \
	1e6 * alpha, gamma, 100 * FIT_STDFIT)

# What a machine computes alone: Muon, whatever the batch, and so much for each token.
line(x, muon, token) = muon + token * x
small_muon = 0.1; small_token = 1e-4
fit line(x, small_muon, small_token) data using ($1 == 0 && $3 < 2e7 ? $4 : NaN):7 via small_muon, small_token
large_muon = 1.; large_token = 1e-3
fit line(x, large_muon, large_token) data using ($1 == 0 && $3 > 2e7 ? $4 : NaN):7 via large_muon, large_token
print sprintf("10.6 M: %.3f s and %.1f us a token; 124.8 M: %.2f s and %.0f us a token", \
	small_muon, 1e6 * small_token, large_muon, 1e6 * large_token)

# The share of the gradients' time that was hidden behind the backward pass where that was long
# enough: steps of 32 sequences.
stats data using ($1 == 1000 && $3 == 10647552 && $4 * $2 > 7000 ? ($7 + $8 + $9 + $10 - $11) / $8 : NaN) nooutput
hidden = STATS_mean
print sprintf("hidden: %.0f %% of the gradients' time", 100 * hidden)

# A step on N machines. Each of the 7 L matrices is one thread's, of two: the largest is a fifth of
# its layer's work.
min(a, b) = a < b ? a : b
max(a, b) = a > b ? a : b
latency(N, k) = N > 1 ? k * alpha : 0
one_way(N, L, P, mbit) = latency(N, 8 * L + 1) + gamma * bytes(N, P, mbit) / 2
computing(N, L, tokens, muon, token) = token * tokens / N + max(muon / N, muon * 0.41 / L)
step(N, L, P, tokens, muon, token, mbit) = computing(N, L, tokens, muon, token) + \
	2 * one_way(N, L, P, mbit) - \
	min(hidden * one_way(N, L, P, mbit), token * tokens / N * 2 / 3)

small(N, mbit) = step(N, 6, 10647552, 64 * 256, small_muon, small_token, mbit)
large(N, mbit) = step(N, 12, 124807488, 480 * 1024, large_muon, large_token, mbit)
small_gain(N, mbit) = small(1, mbit) / small(N, mbit)
large_gain(N, mbit) = large(1, mbit) / large(N, mbit)
do for [mbit in "1000 10000 100000"] {
	do for [N in "1 2 4 8 16"] {
		print sprintf("%6s Mbit/s, %3s machines: 10.6 M %8.3f s a step, %6.1f times as fast; 124.8 M %8.3f s, %6.1f times", \
			mbit, N, small(N, mbit), small_gain(N, mbit), large(N, mbit), large_gain(N, mbit))
	}
}

set terminal svg size 880,360 font "sans-serif,13" background "white"
set output "docs/scale.svg"
set multiplot layout 1,2
set grid lc rgb "#dddddd"
set border 3 lc rgb "#555555"
set tics nomirror
set logscale xy
set key left top samplen 2

set title "Messages of a step: measured and fitted"
set xlabel "seconds, fitted"
set ylabel "seconds, measured"
set xrange [1e-3:10]
set yrange [1e-3:10]
plot x notitle lc rgb "#888888", \
	for [N in "2 3 4 8 16"] data using \
		($2 == N + 0 ? messages($5, bytes($2, $3, $1)) : NaN):($8 + $9) \
		title N." processes" pt 7 ps 0.6

set title "How many times as fast as one machine"
set xlabel "machines"
set ylabel ""
set xrange [1:16]
set yrange [1:16]
set xtics (1, 2, 4, 8, 16)
set ytics (1, 2, 4, 8, 16)
set samples 200
plot x title "ideal" lc rgb "#888888", \
	small_gain(x, 1e3) title "10.6 M, 1 Gbit/s" lw 2 lc rgb "#d95f02", \
	small_gain(x, 1e4) title "10.6 M, 10 Gbit/s" lw 2 dt 2 lc rgb "#d95f02", \
	large_gain(x, 1e3) title "124.8 M, 1 Gbit/s" lw 2 lc rgb "#1b6ca8", \
	large_gain(x, 1e4) title "124.8 M, 10 Gbit/s" lw 2 dt 2 lc rgb "#1b6ca8"
unset multiplot
