-- What:     second factors of users: the encrypted secret of one-time passwords, and recovery codes.
-- Why:      contract, section 15.3: a password alone does not log in a user with a second factor.
-- Locks:    none, the table is new.
-- Backfill: none.
-- Undo:     forward only.

create table second_factors (
  user_id uuid primary key references users (id),
  secret bytea not null,
  confirmed_at timestamptz,
  last_step bigint not null default 0,
  recovery bytea[] not null default '{}',
  wrong_codes integer not null default 0,
  wrong_since timestamptz,
  created_at timestamptz not null
);
comment on column second_factors.secret is 'Encrypted by the serving half with the platform key.';
comment on column second_factors.confirmed_at is 'Time of the first right code; logins ask for a code from then on.';
comment on column second_factors.last_step is 'The step of the last code that was right: no code counts twice.';
comment on column second_factors.recovery is 'SHA-256 of the recovery codes that are left.';
comment on column second_factors.wrong_codes is 'Wrong codes that came with the right password, in the 24 hours from wrong_since on.';

create function second_factors_forward() returns trigger language plpgsql as $$
begin
  if new.secret = old.secret and (new.last_step < old.last_step
      or not new.recovery <@ old.recovery and old.confirmed_at is not null) then
    raise exception 'a code that was used stays so'
      using errcode = 'check_violation', constraint = 'second_factors_forward';
  end if;
  return new;
end $$;
create trigger second_factors_forward before update on second_factors
  for each row execute function second_factors_forward();

select tell_of('second_factors');
