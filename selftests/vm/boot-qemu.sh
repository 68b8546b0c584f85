# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034,SC2054
#
# Starts a QEMU guest for run.sh, which sources this and
# sets image, job, smp, mem and the rest.

boot_prepare()
{
	"$VM_DIR/packages.sh" qemu-system-x86
	# Two guests on few CPUs: one vCPU each keeps them from starving
	# each other.
	if [ -z "$smp" ]; then
		smp=2
		[ "$net" != pair ] || smp=1
	fi
	accel=$("$VM_DIR/accel.sh")
	case $kernel in
	6.*)	modules=$("$VM_DIR/kernel.sh" modules "$kernel") ;;
	*)	modules='' ;;	# all is built in
	esac
	initramfs=$("$VM_DIR/initramfs.sh" "$kernel")
}

# The wire of a pair: node a listens on a socket in the job folder, which is
# QEMU's working folder, because the name of a socket may have 107 bytes only.
# A stream netdev that finds nobody listening gives up: b waits for the socket.
wire_args()
{
	local mac=52:54:00:77:00:0a role=on
	if [ "$1" = b ]; then
		mac=52:54:00:77:00:0b role=off
		until [ -S wire ]; do sleep 0.05; done
	fi
	args+=(
		-netdev "stream,id=wire,server=$role,addr.type=unix,addr.path=wire"
		-device "virtio-net-pci,netdev=wire,mac=$mac,host_mtu=9000"
	)
}

# boot NODE: becomes the guest. The kernel log goes to the serial port, the
# command's output to a virtio port (a shell: console) on stdin and stdout.
boot()
{
	local cpu=max append args share=security_model=none,multidevs=remap
	# KCSAN's reports count as warnings, and the kernel has races of its own
	local panic_on_warn=1
	[ "$kernel" != kcsan ] || panic_on_warn=0
	# It looks at each 400th access of a CPU, not at each 4000th, and ten
	# times as long: runs are short, and emulation is slow
	[ "$accel" = tcg ] || cpu=host
	cd "$job" || exit
	append=(
		console=ttyS0 loglevel=5 printk.time=1 net.ifnames=0
		tsc=reliable mitigations=off
		panic=-1 "panic_on_warn=$panic_on_warn" oops=panic
		sysctl.kernel.hung_task_panic=1
		sysctl.kernel.hung_task_timeout_secs=60
		sysctl.kernel.softlockup_panic=1
		sysctl.kernel.panic_on_rcu_stall=1
		# A busy host may keep a vCPU waiting for seconds.
		rcupdate.rcu_cpu_stall_timeout=60 watchdog_thresh=20
		kcsan.skip_watch=400 kcsan.udelay_task=800
		"kunit.filter=speed>slow"
		"te_node=$1" "te_job=$job" "te_vm=$VM_DIR" "te_root=$TE_ROOT"
		"te_build=$TE_BUILD"
	)
	# A socket for each CPU: without ACPI no more than one of each is found.
	args=(
		-accel "${accel/tcg/tcg,thread=multi}" -cpu "$cpu"
		-smp "$smp,sockets=$smp" -m "$mem"
		-nodefaults -display none -no-reboot
		-kernel "$image" -initrd "$initramfs" -append "${append[*]}"
		-serial "file:klog.$1"
		-virtfs "local,path=/,mount_tag=root,readonly=on,$share"
		-virtfs "local,path=$TE_BUILD,mount_tag=build,$share"
		-device virtio-serial-pci
	)
	# The end of stdin would close a stdio chardev both ways.
	if [ -n "$shell" ]; then
		args+=(
			-chardev stdio,id=out,signal=off
			-device virtconsole,chardev=out
		)
	else
		args+=(
			-chardev file,id=out,path=/dev/stdout
			-device virtserialport,chardev=out,name=out
		)
	fi
	[ "$net" != pair ] || wire_args "$1"
	exec setsid setpriv --pdeathsig KILL qemu-system-x86_64 "${args[@]}"
}
