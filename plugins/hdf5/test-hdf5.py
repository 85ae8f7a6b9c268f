import tap
