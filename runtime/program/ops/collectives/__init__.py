"""Operations by which the processes of a grid communicate with each other and with the host."""
